#include "cluster/link_kinds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "cluster/regions.hpp"

namespace syncopate {

namespace {

constexpr std::array kinds = {
    LinkKind{"efa", 0, 6, 0.594, 0.618, 0.649, "AWS Elastic Fabric Adapter"},
    LinkKind{"ethernet-rdma", 0, 19, 0.664, 0.84, 0.897, "Ethernet with RDMA (RoCE)"},
    LinkKind{"ethernet-tcp", 10, 2, 0.936, 0.936, 0.936, "Ethernet, NCCL over TCP sockets"},
    LinkKind{"ethernet-tcp", 30, 5, 0.544, 0.7, 0.963, "the same; several GPUs per node get less than one"},
    LinkKind{"ethernet-tcp", 100, 3, 0.244, 0.376, 0.388, "the same: processors do not keep up"},
    LinkKind{"infiniband", 0, 16, 0.719, 0.903, 0.958, "InfiniBand, EDR and HDR, without sums in switches (SHARP)"},
    LinkKind{"nvlink2", 0, 3, 0.842, 0.861, 0.882, "NVLink of V100, 150 GB/s each way"},
    LinkKind{"nvlink3", 0, 13, 0.688, 0.772, 0.775, "NVLink of A100, 300 GB/s each way"},
    LinkKind{"nvlink4", 0, 5, 0.8, 0.804, 0.82, "NVLink of H100, 450 GB/s each way, without sums in switches (NVLS)"},
    LinkKind{"pcie3", 0, 13, 0.254, 0.437, 0.589, "16 lanes of PCIe 3.0; the low end passes through the host's memory"},
    LinkKind{"pcie4", 0, 11, 0.102, 0.459, 0.718, "16 lanes of PCIe 4.0; the low end passes through the host's memory"},
};

constexpr std::array named_shares = {std::pair("low", &LinkKind::low), std::pair("median", &LinkKind::median),
                                     std::pair("high", &LinkKind::high)};

/// Between two rows of a kind.
LinkKind between(const LinkKind& slower, const LinkKind& faster, double gbps) {
  LinkKind kind = faster;
  const double way = std::min(1.0, (gbps - slower.gbps) / (faster.gbps - slower.gbps));
  for (const auto& [name, share] : named_shares) {
    const double through = slower.*share * slower.gbps * (1.0 - way) + faster.*share * faster.gbps * way;
    kind.*share = through / gbps;
  }
  return kind;
}

}  // namespace

std::span<const LinkKind> link_kinds() { return kinds; }

LinkKind read_link_kind(const Field& name, Rate nominal) {
  const auto is_called = [&](const LinkKind& kind) { return kind.name == name.text(); };
  const auto first = std::find_if(kinds.begin(), kinds.end(), is_called);
  if (first == kinds.end()) {
    std::vector<std::string> names;
    for (const LinkKind& kind : kinds) {
      if (names.empty() || names.back() != kind.name) names.emplace_back(kind.name);
    }
    name.fail(fmt::format("one of \"{}\"{}", fmt::join(names, "\", \""), did_you_mean(name.text(), names)));
  }
  const auto end = std::find_if_not(first, kinds.end(), is_called);
  if (end - first == 1) return *first;
  const double gbps = nominal.value * 8 / 1e9;
  const auto faster = std::find_if(first, end - 1, [&](const LinkKind& kind) { return gbps <= kind.gbps; });
  LinkKind kind = faster == first ? *first : between(*(faster - 1), *faster, gbps);
  kind.results = 0;
  for (auto row = first; row != end; ++row) kind.results += row->results;
  return kind;
}

double read_efficiency(const Field& field, const LinkKind* kind) {
  if (field.json().is_number()) return read_efficiency(field);
  const auto found = std::find_if(named_shares.begin(), named_shares.end(), [&](const auto& share) { return field.json() == share.first; });
  if (found == named_shares.end()) field.fail(R"(a number, or "low", "median" or "high" of the link's kind)");
  if (kind == nullptr)
    field.fail_because(R"("low", "median" and "high" are those of a link's "kind", which it does not have; add it or use a number)");
  return kind->*found->second;
}

std::string describe(const LinkKind& kind) {
  if (kind.gbps == 0.0) {
    return fmt::format("half of {} published results for {} got {} to {} of the nominal bandwidth", kind.results, kind.name,
                       percent(kind.low, 0), percent(kind.high, 0));
  }
  return fmt::format("by {} published results for {}, from 10 to 100 Gb/s, about {} to {} of the nominal bandwidth get through",
                     kind.results, kind.name, percent(kind.low, 0), percent(kind.high, 0));
}

}  // namespace syncopate
