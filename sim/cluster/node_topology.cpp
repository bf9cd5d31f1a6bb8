#include "cluster/node_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <cctype>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "base/text.hpp"

namespace syncopate {

namespace {

constexpr int most_gpus = 1024;
constexpr int most_nvlinks = 1000;

/// Ways through PCIe, the nearest first.
constexpr std::array<std::string_view, 5> pcie = {"PIX", "PXB", "PHB", "NODE", "SYS"};

/// Rank of a connection: the more NVLinks the lower; then the nearest way through PCIe. Nullopt for another word.
std::optional<int> distance(std::string_view word) {
  if (word.starts_with("NV")) {
    int links = 0;
    const auto [end, error] = std::from_chars(word.data() + 2, word.data() + word.size(), links);
    const bool is_number = error == std::errc() && end == word.data() + word.size() && links > 0 && links <= most_nvlinks;
    return is_number ? std::optional(-links) : std::nullopt;
  }
  const auto found = std::find(pcie.begin(), pcie.end(), word);
  return found == pcie.end() ? std::nullopt : std::optional(static_cast<int>(found - pcie.begin()) + 1);
}

/// The text without the escapes with which nvidia-smi underlines.
std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      plain += text[i];
      continue;
    }
    while (i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) == 0) ++i;
  }
  return plain;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

bool is_gpu(std::string_view word) {
  return word.size() > 3 && word.starts_with("GPU") &&
         std::all_of(word.begin() + 3, word.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// Sets the weakest connection between two GPUs.
void set_connection(NodeTopology& node, std::string_view word) {
  const auto now = distance(node.connection);
  if (now && *now >= *distance(word)) return;
  node.connection = word;
  node.nvlinks = std::max(0, -*distance(word));
}

/// Tells each interface the GPUs to which it is one of the nearest. `far`: by interface, by GPU.
void set_nearest(NodeTopology& node, const std::vector<std::vector<int>>& far) {
  for (int gpu = 0; gpu < node.gpus; ++gpu) {
    int nearest = static_cast<int>(pcie.size()) + 1;
    for (const std::vector<int>& of_nic : far) nearest = std::min(nearest, of_nic[at(gpu)]);
    for (std::size_t nic = 0; nic < far.size(); ++nic) {
      if (far[nic][at(gpu)] == nearest) node.nics[nic].nearest.push_back(gpu);
    }
  }
}

/// The matrix of nvidia-smi: a head with GPU0, GPU1, ... and interfaces, then a row for each.
NodeTopology read_matrix(const std::string& file, const std::string& text) {
  NodeTopology node;
  node.file = file;
  std::istringstream lines(without_escapes(text));
  std::vector<std::string> head;
  std::map<std::string, std::string> names;  // of NIC0, ...
  std::vector<std::vector<int>> far;
  int number = 0;
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::vector<std::string> words = words_of(line);
    const auto fail = [&](const std::string& why) { throw InputError(fmt::format("{}:{}: {}", file, number, why)); };
    if (words.empty()) continue;
    if (head.empty()) {
      if (words.front() != "GPU0") continue;
      for (const std::string& word : words) {
        if (word == "CPU" || word == "NUMA") break;
        head.push_back(word);
      }
      node.gpus = static_cast<int>(std::count_if(head.begin(), head.end(), is_gpu));
      for (std::size_t column = at(node.gpus); column < head.size(); ++column) node.nics.push_back({head[column]});
      far.assign(node.nics.size(), std::vector<int>(at(node.gpus)));
      continue;
    }
    if (words.size() == 2 && words[0].ends_with(':')) names[words[0].substr(0, words[0].size() - 1)] = words[1];
    if (!is_gpu(words.front()) || words.size() < 2 || words[1] == "=") continue;
    if (rows == node.gpus || words.front() != head[at(rows)])
      fail(fmt::format("expected the row of {}, got \"{}\"", rows < node.gpus ? head[at(rows)] : "no more GPUs",
                       shortened(words.front(), 40)));
    if (words.size() <= head.size())
      fail(fmt::format("expected a word for each of the {} columns, got {}; the output was cut off", head.size(), words.size() - 1));
    for (std::size_t column = 0; column < head.size(); ++column) {
      const std::string& word = words[column + 1];
      const bool is_self = column == at(rows);
      if (is_self != (word == "X") || (!is_self && !distance(word))) {
        fail(fmt::format("\"{}\" of {} and {}, expected X, NV#, PIX, PXB, PHB, NODE or SYS", shortened(word, 40), head[at(rows)],
                         head[column]));
      }
      if (column >= at(node.gpus)) {
        far[column - at(node.gpus)][at(rows)] = *distance(word);
      } else if (!is_self) {
        set_connection(node, word);
      }
    }
    ++rows;
  }
  if (node.gpus == 0)
    throw InputError(fmt::format(
        "{}: no line begins with GPU0, GPU1, ...; give the output of nvidia-smi topo -m without anything before its lines", file));
  if (node.gpus > most_gpus) throw InputError(fmt::format("{}: {} GPUs, expected at most {}", file, node.gpus, most_gpus));
  if (rows != node.gpus)
    throw InputError(fmt::format("{}: {} of {} GPUs have a row; give the whole output of nvidia-smi topo -m", file, rows, node.gpus));
  set_nearest(node, far);
  for (NodeTopology::Nic& nic : node.nics) {
    if (const auto name = names.find(nic.name); name != names.end()) nic.name = name->second;
  }
  return node;
}

using XmlTree = boost::property_tree::ptree;

/// Where an element hangs: the numbers of the elements above it.
using Place = std::vector<int>;

struct XmlElements {
  std::vector<std::pair<Place, const XmlTree*>> gpus;
  std::vector<std::pair<Place, const XmlTree*>> nets;
};

void collect(const XmlTree& tree, const Place& path, XmlElements& elements) {
  int number = 0;
  for (const auto& [name, child] : tree) {
    Place below = path;
    below.push_back(number++);
    if (name == "gpu") elements.gpus.emplace_back(below, &child);
    if (name == "net") elements.nets.emplace_back(below, &child);
    collect(child, below, elements);
  }
}

/// Number of elements that two share above them.
std::size_t shared(const Place& a, const Place& b) {
  return static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), b.begin()).first - a.begin());
}

/// NCCL's XML: <system> of <cpu> of <pci> of <gpu> with <nvlink count="18"/>, and of <net speed="200000"/> in Mb/s.
NodeTopology read_xml(const std::string& file, const std::string& text) {
  // The parser calls itself for each element inside another one.
  constexpr int deepest = 64;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '<' && std::isalpha(static_cast<unsigned char>(text[i + 1])) != 0) ++depth;
    if ((text[i] == '<' && text[i + 1] == '/') || (text[i] == '/' && text[i + 1] == '>')) --depth;
    if (depth > deepest) throw InputError(fmt::format("{}: not valid XML: more than {} elements inside each other", file, deepest));
  }
  XmlTree tree;
  std::istringstream stream(text);
  try {
    boost::property_tree::read_xml(stream, tree);
  } catch (const boost::property_tree::xml_parser_error& error) {
    throw InputError(fmt::format("{}:{}: not valid XML: {}", file, error.line(), error.message()));
  }
  XmlElements elements;
  collect(tree, {}, elements);
  NodeTopology node;
  node.file = file;
  node.gpus = static_cast<int>(elements.gpus.size());
  if (node.gpus == 0 || node.gpus > most_gpus)
    throw InputError(fmt::format("{}: {} elements <gpu>, expected 1 to {}", file, node.gpus, most_gpus));
  std::optional<int> fewest;
  for (const auto& [path, gpu] : elements.gpus) {
    int links = 0;
    for (const auto& [name, child] : *gpu) {
      if (name != "nvlink") continue;
      const int count = child.get("<xmlattr>.count", 0);
      if (count < 1 || count > most_nvlinks)
        throw InputError(
            fmt::format("{}: an <nvlink> with count=\"{}\", expected 1 to {}", file, child.get("<xmlattr>.count", ""), most_nvlinks));
      links += count;
    }
    fewest = std::min(fewest.value_or(links), links);
  }
  // A ring uses a GPU's links in both directions, whatever they lead to.
  node.nvlinks = node.gpus > 1 ? *fewest : 0;
  node.connection = node.nvlinks > 0 ? fmt::format("NV{}", node.nvlinks) : "PCIe";
  constexpr double bits = 8;
  constexpr double megabit = 1e6;
  constexpr double fastest = 1e8;
  for (const auto& [path, net] : elements.nets) {
    NodeTopology::Nic nic;
    nic.name = net->get("<xmlattr>.name", "net");
    const double speed = net->get("<xmlattr>.speed", 0.0);
    if (!(speed > 0 && speed <= fastest))
      throw InputError(fmt::format("{}: <net name=\"{}\"> has speed=\"{}\", expected Mb/s", file, shortened(nic.name, 40),
                                   net->get("<xmlattr>.speed", "")));
    nic.speed = Rate(speed * megabit / bits);
    node.nics.push_back(nic);
  }
  for (int gpu = 0; gpu < node.gpus; ++gpu) {
    std::size_t most = 0;
    for (const auto& [path, net] : elements.nets) most = std::max(most, shared(path, elements.gpus[at(gpu)].first));
    for (std::size_t i = 0; i < node.nics.size(); ++i) {
      if (shared(elements.nets[i].first, elements.gpus[at(gpu)].first) == most) node.nics[i].nearest.push_back(gpu);
    }
  }
  return node;
}

}  // namespace

NodeTopology::Nominal NodeTopology::intra_node() const {
  constexpr Rate nvlink(25e9);
  if (nvlinks > 0) return {nvlinks * nvlink, Seconds(3.4e-6), 0.8};
  return {Rate(31.5e9), Seconds(5.7e-6), 0.762};
}

std::string NodeTopology::describe_connection() const {
  if (nvlinks > 0)
    return fmt::format("{}: {} NVLink{} of nominally 25 GB/s (NVLink 2 to 4; 5 has 50)", connection, nvlinks, nvlinks == 1 ? "" : "s");
  return fmt::format("{}: nominally 31.5 GB/s (PCIe 4.0 x16; 3.0 has half, 5.0 twice)", connection);
}

std::optional<Rate> NodeTopology::speed() const {
  Rate sum;
  for (const Nic& nic : nics) {
    if (!nic.speed) return std::nullopt;
    sum += *nic.speed;
  }
  return nics.empty() ? std::nullopt : std::optional(sum);
}

bool is_node_topology(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return false;
  if (text[begin] == '<') return text.find("<system") != std::string::npos;
  const std::string plain = without_escapes(std::string_view(text).substr(0, 1 << 16));
  return plain.find("GPU0") != std::string::npos && plain.find("CPU Affinity") != std::string::npos;
}

NodeTopology read_node_topology(const std::string& file, const std::string& text) {
  return text[text.find_first_not_of(" \t\r\n")] == '<' ? read_xml(file, text) : read_matrix(file, text);
}

}  // namespace syncopate
