#include "cuda_on_host.hpp"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <vector>

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace host_cuda {

bool backwards = false;

namespace {

constexpr std::size_t stack_bytes = std::size_t{1} << 16U;
constexpr unsigned int warp = 32;

struct Thread {
  ucontext_t context{};
  std::vector<std::byte> stack = std::vector<std::byte>(stack_bytes);
  uint3 index{};
  std::size_t waits = 0;           // how often it has waited for the block
  std::size_t exchanges = 0;       // how many numbers it has offered to its warp
  std::array<float, 2> offered{};  // the last two
  bool ended = false;
};

std::vector<Thread> threads;
std::size_t thread_total = 0;  // of this block
std::size_t now = 0;
ucontext_t scheduler;
const std::function<void()>* running = nullptr;

void run_thread() {
  (*running)();
  threads[now].ended = true;
}

void give_turn() { swapcontext(&threads[now].context, &scheduler); }

void run_block(dim3 block) {
  for (std::size_t i = 0; i < thread_total; ++i) {
    Thread& thread = threads[i];
    const auto number = static_cast<unsigned int>(i);
    thread.index = {number % block.x, number / block.x % block.y, number / block.x / block.y};
    thread.waits = thread.exchanges = 0;
    thread.ended = false;
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.data();
    thread.context.uc_stack.ss_size = stack_bytes;
    thread.context.uc_link = &scheduler;
    makecontext(&thread.context, run_thread, 0);
  }
  constexpr int most_rounds = 1'000'000;
  for (int round = 0; std::any_of(threads.begin(), threads.begin() + static_cast<std::ptrdiff_t>(thread_total),
                                  [](const Thread& thread) { return !thread.ended; });
       ++round) {
    if (round == most_rounds) throw std::logic_error("threads of a block wait for each other");
    for (std::size_t turn = 0; turn < thread_total; ++turn) {
      now = backwards ? thread_total - 1 - turn : turn;
      if (threads[now].ended) continue;
      threadIdx = threads[now].index;
      swapcontext(&scheduler, &threads[now].context);
    }
  }
}

}  // namespace

void run_grid(dim3 grid, dim3 block, const std::function<void()>& kernel) {
  constexpr unsigned int most_threads = 1024;
  constexpr unsigned int most_blocks = (1U << 16U) - 1;  // in the second and third dimension
  thread_total = static_cast<std::size_t>(block.x) * block.y * block.z;
  if (thread_total == 0 || thread_total > most_threads || grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > most_blocks ||
      grid.z > most_blocks) {
    throw std::logic_error("a GPU refuses this grid");
  }
  while (threads.size() < thread_total) threads.emplace_back();
  running = &kernel;
  blockDim = block;
  gridDim = grid;
  for (unsigned int z = 0; z < grid.z; ++z) {
    for (unsigned int y = 0; y < grid.y; ++y) {
      for (unsigned int x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        run_block(block);
      }
    }
  }
}

void wait_for_block() {
  const std::size_t me = now;
  const std::size_t mine = ++threads[me].waits;
  const auto is_behind = [mine](const Thread& thread) { return !thread.ended && thread.waits < mine; };
  while (std::any_of(threads.begin(), threads.begin() + static_cast<std::ptrdiff_t>(thread_total), is_behind)) give_turn();
}

float exchange(float value, unsigned int with_lane) {
  const std::size_t first = now / warp * warp;
  const std::size_t mine = threads[now].exchanges++;
  threads[now].offered[mine % 2] = value;
  const auto is_behind = [mine](const Thread& thread) { return thread.exchanges <= mine; };
  const auto begin = threads.begin() + static_cast<std::ptrdiff_t>(first);
  while (std::any_of(begin, begin + warp, is_behind)) give_turn();
  return threads[first + with_lane].offered[mine % 2];
}

}  // namespace host_cuda
