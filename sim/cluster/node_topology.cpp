#include "cluster/node_topology.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <cctype>
#include <charconv>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "base/text.hpp"
#include "cluster/benchmark_lines.hpp"

namespace syncopate {

namespace {

constexpr int most_gpus = 1024;
constexpr int most_nvlinks = 1000;
constexpr int most_of_gpu = 18;  // NVLinks

/// Ways through PCIe, the nearest first. Old drivers say SOC in place of SYS.
constexpr std::array<std::string_view, 6> pcie_ways = {"PIX", "PXB", "PHB", "NODE", "SYS", "SOC"};

/// Rank of a connection: the more NVLinks the lower; then the nearest way through PCIe. Nullopt for another word.
std::optional<int> distance(std::string_view word) {
  if (word.starts_with("NV")) {
    int links = 0;
    const auto [end, error] = std::from_chars(word.data() + 2, word.data() + word.size(), links);
    const bool is_number = error == std::errc() && end == word.data() + word.size() && links > 0 && links <= most_nvlinks;
    return is_number ? std::optional(-links) : std::nullopt;
  }
  const auto found = std::find(pcie_ways.begin(), pcie_ways.end(), word);
  return found == pcie_ways.end() ? std::nullopt : std::optional(static_cast<int>(found - pcie_ways.begin()) + 1);
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

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_gpu(std::string_view word) {
  return word.size() > 3 && word.starts_with("GPU") &&
         std::all_of(word.begin() + 3, word.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// The link of each pair of GPUs, as a word of nvidia-smi.
using Links = std::map<std::pair<int, int>, std::string>;

using LinkCounts = std::vector<std::vector<int>>;  // NVLinks between each two GPUs

LinkCounts nvlinks_between(int gpus, const Links& links) {
  LinkCounts counts(at(gpus), std::vector<int>(at(gpus)));
  for (const auto& [pair, word] : links) {
    const int count = std::max(0, -*distance(word));
    counts[at(pair.first)][at(pair.second)] = counts[at(pair.second)][at(pair.first)] = count;
  }
  return counts;
}

/// Whether NVLinks lead to other GPUs: not all pairs have as many, as behind switches, and no GPU has more than it can have.
bool lead_to_gpus(const LinkCounts& counts) {
  std::set<int> different;
  for (std::size_t gpu = 0; gpu < counts.size(); ++gpu) {
    if (std::accumulate(counts[gpu].begin(), counts[gpu].end(), 0) > most_of_gpu) return false;
    for (std::size_t other = 0; other < gpu; ++other) different.insert(counts[gpu][other]);
  }
  return different.size() > 1;
}

/// Takes a ring through all GPUs off, that with the most links between its neighbours in all. Returns whether there was one.
bool take_ring(LinkCounts& left) {
  const std::size_t gpus = left.size();
  struct Way {
    int sum = -1;  ///< of the links between neighbours; -1: there is no such way
    std::size_t before = 0;
  };
  const std::size_t all = (std::size_t{1} << gpus) - 1;
  std::vector<std::vector<Way>> ways(all + 1, std::vector<Way>(gpus));  // from GPU 0 through a set, by its last GPU
  ways[1][0].sum = 0;
  for (std::size_t set = 1; set <= all; ++set) {
    for (std::size_t last = 0; last < gpus; ++last) {
      const int sum = ways[set][last].sum;
      for (std::size_t next = 1; sum >= 0 && next < gpus; ++next) {
        if ((set >> next & 1U) != 0 || left[last][next] == 0) continue;
        Way& longer = ways[set | std::size_t{1} << next][next];
        if (sum + left[last][next] > longer.sum) longer = {sum + left[last][next], last};
      }
    }
  }
  std::size_t last = 0;
  for (std::size_t gpu = 1; gpu < gpus; ++gpu) {
    const auto closed = [&](std::size_t end) {
      return ways[all][end].sum < 0 || left[end][0] == 0 ? -1 : ways[all][end].sum + left[end][0];
    };
    if (closed(gpu) > (last == 0 ? -1 : closed(last))) last = gpu;
  }
  if (last == 0) return false;
  const auto take = [&left](std::size_t a, std::size_t b) {
    --left[a][b];
    --left[b][a];
  };
  take(last, 0);
  for (std::size_t set = all; last != 0;) {
    const std::size_t before = ways[set][last].before;
    take(before, last);
    set &= ~(std::size_t{1} << last);
    last = before;
  }
  return true;
}

/// How many rings through all GPUs there are at a time, no two over one link. Which one is taken off first matters: several orders of the
/// GPUs are tried.
int count_rings(const LinkCounts& counts) {
  const std::size_t gpus = counts.size();
  int most = most_of_gpu;
  for (const std::vector<int>& row : counts) most = std::min(most, std::accumulate(row.begin(), row.end(), 0) / 2);
  constexpr std::size_t few = 10;
  constexpr unsigned attempts = 64;
  std::vector<std::size_t> order(gpus);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random;  // the same each time
  int best = 0;
  for (unsigned attempt = 0; attempt < (gpus > few ? 1U : attempts) && best < most; ++attempt) {
    LinkCounts left(gpus, std::vector<int>(gpus));
    for (std::size_t a = 0; a < gpus; ++a) {
      for (std::size_t b = 0; b < gpus; ++b) left[a][b] = counts[order[a]][order[b]];
    }
    int rings = 0;
    while (take_ring(left)) ++rings;
    best = std::max(best, rings);
    std::shuffle(order.begin(), order.end(), random);
  }
  return best;
}

/// Chooses `connection`: the nearest distance at which a ring through all GPUs exists. `direct`: NVLinks lead to other GPUs, not to
/// switches.
void set_connection(NodeTopology& node, const Links& links, bool direct) {
  if (links.empty()) return;
  std::map<int, std::pair<std::string, int>> words;  // by distance: the word, and how many pairs have it
  for (const auto& [pair, word] : links) ++words.try_emplace(*distance(word), word, 0).first->second.second;
  constexpr int most_for_rings = 16;
  auto taken = std::prev(words.end());
  for (auto kind = words.begin(); node.gpus <= most_for_rings && kind != taken; ++kind) {
    LinkCounts near(at(node.gpus), std::vector<int>(at(node.gpus)));
    for (const auto& [pair, word] : links) {
      near[at(pair.first)][at(pair.second)] = near[at(pair.second)][at(pair.first)] = *distance(word) <= kind->first ? 1 : 0;
    }
    if (!take_ring(near)) continue;
    taken = kind;
    break;
  }
  node.connection = taken->second.first;
  node.nvlinks = std::max(0, -taken->first);
  if (node.nvlinks > 0 && direct && node.gpus > 2 && node.gpus <= most_for_rings) {
    const int rings = count_rings(nvlinks_between(node.gpus, links));
    node.nvlinks = 2 * rings;
    node.connection = fmt::format("NV{}", node.nvlinks);
    node.unlike = fmt::format("taken: {} ring{} at a time through all GPUs, in both directions", rings, rings == 1 ? "" : "s");
    return;
  }
  if (words.size() == 1 && node.nvlinks > 0 && node.gpus > 2 && (node.gpus - 1) * node.nvlinks <= most_of_gpu)
    node.unlike = fmt::format("if these lead to other GPUs, not to switches, it is {} times as much", node.gpus - 1);
  if (words.size() == 1 || words.begin()->first > 0) return;  // PCIe has the same figures on all its ways
  std::vector<std::string> counts;
  for (const auto& [far, kind] : words) counts.push_back(fmt::format("{} by {}", kind.second, kind.first));
  node.unlike = fmt::format("pairs of GPUs are joined {}; taken: {}, ", fmt::join(counts, ", "), node.connection);
  node.unlike += node.gpus > most_for_rings ? fmt::format("the narrowest, since rings are looked for among at most {} GPUs", most_for_rings)
                                            : "the narrowest link of the best ring through all GPUs, as collectives go round";
}

/// Tells each interface the GPUs to which it is one of the nearest. `far`: by interface, by GPU.
void set_nearest(NodeTopology& node, const std::vector<std::vector<int>>& far) {
  for (int gpu = 0; gpu < node.gpus; ++gpu) {
    int nearest = static_cast<int>(pcie_ways.size()) + 1;
    for (const std::vector<int>& of_nic : far) nearest = std::min(nearest, of_nic[at(gpu)]);
    for (std::size_t nic = 0; nic < far.size(); ++nic) {
      if (far[nic][at(gpu)] == nearest) node.nics[nic].nearest.push_back(gpu);
    }
  }
}

/// Where the head of nvidia-smi's matrix begins in a line, or npos.
std::size_t matrix_head_in(std::string_view line) {
  return line.find("CPU Affinity") == std::string_view::npos ? std::string_view::npos : line.find("GPU0");
}

/// The columns of GPUs and interfaces that a head names.
std::vector<std::string> columns_in(const PrintedLine& head) {
  std::vector<std::string> columns;
  for (const std::string& word : head.words) {
    if (word == "CPU" || word == "NUMA") break;
    columns.push_back(word);
  }
  return columns;
}

/// The words of a GPU's row, one for each column. Calls `fail` if they are wrong.
std::vector<std::string> row_of(const PrintedLine& line, const std::vector<std::string>& head, std::size_t row) {
  if (line.words.size() <= head.size()) {
    line.fail(
        fmt::format("expected a word for each of the {} columns, got {}; the output was cut off", head.size(), line.words.size() - 1));
  }
  for (std::size_t column = 0; column < head.size(); ++column) {
    const std::string& word = line.words[column + 1];
    const bool is_self = column == row;
    if (is_self != (word == "X") || (!is_self && !distance(word))) {
      line.fail(
          fmt::format("\"{}\" of {} and {}, expected X, NV#, PIX, PXB, PHB, NODE or SYS", shortened(word, 40), head[row], head[column]));
    }
  }
  const auto first = line.words.begin() + 1;
  return {first, first + static_cast<std::ptrdiff_t>(head.size())};
}

/// The matrix of nvidia-smi: a head with GPU0, GPU1, ... and interfaces, then a row for each. Several processes may print the same one.
NodeTopology read_matrix(const std::string& file, const std::string& text) {
  NodeTopology node;
  node.file = file;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;  // of the GPUs
  std::map<std::string, std::string> names;    // of NIC0, ...
  for (const PrintedLine& line : lines_of(file, without_escapes(text), matrix_head_in)) {
    const std::vector<std::string>& words = line.words;
    if (words.empty()) continue;
    if (matrix_head_in(line.text) != std::string::npos) {
      const std::vector<std::string> columns = columns_in(line);
      if (!head.empty() && columns != head) line.fail("another node's matrix, with other columns; give the output of one node");
      head = columns;
      node.gpus = static_cast<int>(std::count_if(head.begin(), head.end(), is_gpu));
      continue;
    }
    if (head.empty()) continue;
    if (words.size() == 2 && words[0].ends_with(':')) names[words[0].substr(0, words[0].size() - 1)] = words[1];
    if (!is_gpu(words.front()) || words.size() < 2 || words[1] == "=") continue;
    const auto known = std::find(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(rows.size()), words.front());
    const auto row = static_cast<std::size_t>(known - head.begin());
    if (row < rows.size()) {
      if (row_of(line, head, row) != rows[row])
        line.fail(fmt::format("another row of {}, of another node; give the output of one node", words.front()));
      continue;
    }
    if (rows.size() == at(node.gpus) || words.front() != head[rows.size()]) {
      line.fail(fmt::format("expected the row of {}, got \"{}\"", rows.size() < at(node.gpus) ? head[rows.size()] : "no more GPUs",
                            shortened(words.front(), 40)));
    }
    rows.push_back(row_of(line, head, row));
  }
  if (node.gpus == 0) throw InputError(fmt::format("{}: no line begins with GPU0, GPU1, ...; give the output of nvidia-smi topo -m", file));
  if (node.gpus > most_gpus) throw InputError(fmt::format("{}: {} GPUs, expected at most {}", file, node.gpus, most_gpus));
  if (rows.size() != at(node.gpus))
    throw InputError(
        fmt::format("{}: {} of {} GPUs have a row; give the whole output of nvidia-smi topo -m", file, rows.size(), node.gpus));
  Links links;
  for (int gpu = 0; gpu < node.gpus; ++gpu) {
    for (int other = 0; other < gpu; ++other) links[{other, gpu}] = rows[at(gpu)][at(other)];
  }
  set_connection(node, links, lead_to_gpus(nvlinks_between(node.gpus, links)));
  std::vector<std::vector<int>> far;  // by interface, by GPU
  for (std::size_t column = at(node.gpus); column < head.size(); ++column) {
    const auto name = names.find(head[column]);
    node.nics.push_back({name != names.end() ? name->second : head[column]});
    std::vector<int>& of_nic = far.emplace_back();
    for (const std::vector<std::string>& row : rows) of_nic.push_back(*distance(row[column]));
  }
  set_nearest(node, far);
  return node;
}

using XmlTree = boost::property_tree::ptree;

constexpr std::string_view gpu_class = "0x03";  // of PCI

/// Where an element hangs: the numbers of the elements above it, and its own.
using Place = std::vector<int>;

struct XmlElement {
  Place place;
  std::vector<std::string> above;  ///< names of the elements above it
  const XmlTree* parent = nullptr;
  const XmlTree* tree = nullptr;
};

struct XmlElements {
  std::vector<XmlElement> gpus;
  std::vector<XmlElement> nets;
  int gpu_slots = 0;  ///< elements <pci> of a GPU's class
};

std::string attribute(const XmlTree& tree, const std::string& name) { return tree.get("<xmlattr>." + name, std::string()); }

void collect(const XmlTree& tree, const XmlElement& parent, XmlElements& elements) {
  int number = 0;
  for (const auto& [name, child] : tree) {
    XmlElement element = {parent.place, parent.above, &tree, &child};
    element.place.push_back(number++);
    if (name == "gpu") elements.gpus.push_back(element);
    if (name == "net") elements.nets.push_back(element);
    if (name == "pci" && attribute(child, "class").starts_with(gpu_class)) ++elements.gpu_slots;
    element.above.push_back(name);
    collect(child, element, elements);
  }
}

/// Number of elements that two share above them.
std::size_t shared(const Place& a, const Place& b) {
  return static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), b.begin()).first - a.begin());
}

/// The way through PCIe between two GPUs.
std::string pcie_between(const XmlElement& a, const XmlElement& b) {
  const std::size_t common = shared(a.place, b.place);
  const std::vector<std::string>& above = a.above.size() > b.above.size() ? a.above : b.above;
  const std::string meet = common == 0 ? "" : above[common - 1];
  if (meet == "cpu") return "PHB";
  if (meet != "pci") return "SYS";
  // Between a GPU and one switch is only its own <pci>.
  return std::max(a.place.size(), b.place.size()) - common == 2 ? "PIX" : "PXB";
}

/// A GPU's NVLinks to switches, and to each other GPU of the file.
struct NvLinks {
  int to_switches = 0;
  std::map<int, int> to_gpus;
};

/// A link without a class, or to a GPU that is not in the file of a class for switches, leads to a switch. A CPU of IBM has NVLinks, too;
/// no GPU is behind these.
NvLinks nvlinks_of(const XmlElement& gpu, const std::map<std::string, int>& gpu_at, const std::string& file) {
  NvLinks links;
  for (const auto& [name, child] : *gpu.tree) {
    if (name == "xgmi")
      throw InputError(fmt::format("{}: GPUs of AMD, joined by xGMI, are not read; give the cluster's intra_node yourself", file));
    if (name != "nvlink") continue;
    const int count = child.get("<xmlattr>.count", 0);
    if (count < 1 || count > most_nvlinks)
      throw InputError(fmt::format("{}: an <nvlink> with count=\"{}\", expected 1 to {}", file, attribute(child, "count"), most_nvlinks));
    const std::string kind = attribute(child, "tclass");
    if (kind.starts_with(gpu_class)) {
      const auto other = gpu_at.find(in_lower_case(attribute(child, "target")));
      if (other != gpu_at.end()) links.to_gpus[other->second] += count;
    } else if (kind != "0x068001") {
      links.to_switches += count;
    }
  }
  return links;
}

/// The nominal rate of an NVLink in one direction, by the GPU's compute capability ("sm"); nullopt if the file does not have it.
std::optional<Rate> nvlink_rate_of(const XmlElement& gpu) {
  const int capability = gpu.tree->get("<xmlattr>.sm", 0);
  if (capability <= 0) return std::nullopt;
  if (capability >= 100) return Rate(50e9);    // NVLink 5
  if (capability == 86) return Rate(14.06e9);  // bridges of A40, A6000 and RTX 3090
  return capability < 70 ? Rate(20e9) : Rate(25e9);
}

/// The PCIe link of a GPU; nullopt if the file does not tell it, as in virtual machines.
std::optional<NodeTopology::PcieLink> pcie_of(const XmlElement& gpu) {
  const int lanes = gpu.parent->get("<xmlattr>.link_width", 0);
  const std::string speed = attribute(*gpu.parent, "link_speed");
  double transfers = 0;  // 10^9 a second and lane
  const auto [end, error] = std::from_chars(speed.data(), speed.data() + speed.size(), transfers);
  constexpr double fastest = 128;
  if (error != std::errc() || !std::string_view(end).starts_with(" GT/s") || !(transfers > 0 && transfers <= fastest) || lanes < 1 ||
      lanes > 32)
    return std::nullopt;
  constexpr double of_pcie_3 = 8;
  const double coding = transfers < of_pcie_3 ? 8.0 / 10.0 : 128.0 / 130.0;
  return NodeTopology::PcieLink{Rate(1e9 * transfers * coding / 8.0 * lanes), fmt::format("{:g} GT/s x{}", transfers, lanes)};
}

/// Sets what joins the GPUs.
void set_links(NodeTopology& node, const std::vector<XmlElement>& gpus) {
  std::map<std::string, int> gpu_at;  // by bus
  for (int gpu = 0; gpu < node.gpus; ++gpu) gpu_at.emplace(in_lower_case(attribute(*gpus[at(gpu)].parent, "busid")), gpu);
  std::vector<NvLinks> of_gpu;
  for (const XmlElement& gpu : gpus) of_gpu.push_back(nvlinks_of(gpu, gpu_at, node.file));
  Links links;
  for (int gpu = 0; gpu < node.gpus; ++gpu) {
    for (int other = 0; other < gpu; ++other) {
      const NvLinks& a = of_gpu[at(other)];
      const NvLinks& b = of_gpu[at(gpu)];
      const auto direct = a.to_gpus.find(gpu);
      const int count = std::min(a.to_switches, b.to_switches) + (direct == a.to_gpus.end() ? 0 : direct->second);
      links[{other, gpu}] = count > 0 ? fmt::format("NV{}", std::min(count, most_nvlinks)) : pcie_between(gpus[at(other)], gpus[at(gpu)]);
    }
  }
  const bool direct = std::all_of(of_gpu.begin(), of_gpu.end(), [](const NvLinks& own) { return own.to_switches == 0; });
  set_connection(node, links, direct);
  node.nvlink_rate = nvlink_rate_of(gpus.front());
  node.pcie = pcie_of(gpus.front());
  for (const XmlElement& gpu : gpus) {
    const auto rate = nvlink_rate_of(gpu);
    node.nvlink_rate = rate && node.nvlink_rate ? std::optional(std::min(*rate, *node.nvlink_rate)) : std::nullopt;
    const auto pcie = pcie_of(gpu);
    if (!pcie || (node.pcie && pcie->bandwidth < node.pcie->bandwidth)) node.pcie = pcie;
    if (!node.pcie) break;
  }
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
  if (node.gpus == 0 && elements.gpu_slots > 0) {
    throw InputError(fmt::format(
        "{}: {} GPUs without their NVLinks: it was written for NCCL_TOPO_FILE; give what NCCL writes with it to NCCL_TOPO_DUMP_FILE", file,
        elements.gpu_slots));
  }
  if (node.gpus == 0 || node.gpus > most_gpus)
    throw InputError(fmt::format("{}: {} elements <gpu>, expected 1 to {}", file, node.gpus, most_gpus));
  set_links(node, elements.gpus);
  constexpr double bits = 8;
  constexpr double megabit = 1e6;
  constexpr double fastest = 1e8;
  for (const XmlElement& net : elements.nets) {
    NodeTopology::Nic nic;
    nic.name = net.tree->get("<xmlattr>.name", "net");
    const double speed = net.tree->get("<xmlattr>.speed", 0.0);
    if (!(speed > 0 && speed <= fastest))
      throw InputError(fmt::format("{}: <net name=\"{}\"> has speed=\"{}\", expected Mb/s", file, shortened(nic.name, 40),
                                   attribute(*net.tree, "speed")));
    nic.speed = Rate(speed * megabit / bits);
    node.nics.push_back(nic);
  }
  for (int gpu = 0; gpu < node.gpus; ++gpu) {
    const Place& place = elements.gpus[at(gpu)].place;
    std::size_t most = 0;
    for (const XmlElement& net : elements.nets) most = std::max(most, shared(net.place, place));
    for (std::size_t i = 0; i < node.nics.size(); ++i) {
      if (shared(elements.nets[i].place, place) == most) node.nics[i].nearest.push_back(gpu);
    }
  }
  return node;
}

bool is_xml(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string::npos && text[begin] == '<' && text.find("<system") != std::string::npos;
}

}  // namespace

NodeTopology::Nominal NodeTopology::intra_node() const {
  if (nvlinks > 0) return {nvlinks * nvlink_rate.value_or(Rate(25e9)), Seconds(3.4e-6), 0.8};
  return {pcie ? pcie->bandwidth : Rate(31.5e9), Seconds(5.7e-6), 0.762};
}

std::string NodeTopology::describe_connection() const {
  std::string text = connection + ": ";
  if (nvlinks > 0) {
    text += fmt::format("{} NVLink{} of nominally {:.4g} GB/s", nvlinks, nvlinks == 1 ? "" : "s",
                        1e-9 * nvlink_rate.value_or(Rate(25e9)).value);
    if (!nvlink_rate) text += " (NVLink 2 to 4; 5 has 50, bridges of A40, A6000 and RTX 3090 have 14)";
  } else if (pcie) {
    text += fmt::format("nominally {:.4g} GB/s (PCIe, {})", 1e-9 * pcie->bandwidth.value, pcie->name);
  } else {
    text += "nominally 31.5 GB/s (PCIe 4.0 x16; 3.0 has half, 5.0 twice)";
  }
  return unlike.empty() ? text : text + "; " + unlike;
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
  if (is_xml(text)) return true;
  const std::string plain = without_escapes(std::string_view(text).substr(0, 1 << 16));
  return plain.find("GPU0") != std::string::npos && plain.find("CPU Affinity") != std::string::npos;
}

NodeTopology read_node_topology(const std::string& file, const std::string& text) {
  return is_xml(text) ? read_xml(file, text) : read_matrix(file, text);
}

}  // namespace syncopate
