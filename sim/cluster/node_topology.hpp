#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// What joins the GPUs of a node, and which network interfaces it has.
struct NodeTopology {
  std::string file;
  int gpus = 0;
  /// The narrowest link of the best ring through all GPUs: "NV18", "PIX", "PXB", "PHB", "NODE", "SYS". Collectives go round in rings. Where
  /// NVLinks lead to other GPUs, not to switches: all rings that there are at a time, in both directions: "NV6".
  std::string connection;
  int nvlinks = 0;  ///< of this link; 0: it is PCIe
  /// What had to be chosen among pairs of GPUs that are joined differently; else empty.
  std::string unlike;
  std::optional<Rate> nvlink_rate{};  ///< nominal, of one NVLink in one direction, if the file tells the GPUs' kind
  struct PcieLink {
    Rate bandwidth;    ///< nominal, in one direction
    std::string name;  ///< "16 GT/s x16"
  };
  std::optional<PcieLink> pcie{};  ///< the narrowest of the GPUs, if the file tells those of all
  struct Nic {
    std::string name;
    std::optional<Rate> speed{};  ///< if the file tells it
    std::vector<int> nearest{};   ///< GPUs to which no other interface is nearer
  };
  std::vector<Nic> nics{};

  /// The link `connection` in one direction. What the file does not tell has the nominal figures of clusters/dgx-a100.json and
  /// clusters/pcie4-8x4-100gbe.json: 25 GB/s for each link of NVLink 2 to 4, of which NCCL reckons with 80%; 31.5 GB/s for PCIe 4.0 x16,
  /// with 76.2%.
  struct Nominal {
    Rate bandwidth;
    Seconds latency;
    double efficiency = 1;
  };
  Nominal intra_node() const;
  /// "NV18: 18 NVLinks of nominally 25 GB/s".
  std::string describe_connection() const;
  /// The sum of the interfaces' speeds; nullopt if one is unknown, or if there are none.
  std::optional<Rate> speed() const;
};

/// Whether a text is what `nvidia-smi topo -m` prints, also behind what launchers write before lines, or NCCL's topology
/// (NCCL_TOPO_DUMP_FILE).
bool is_node_topology(const std::string& text);

/// Reads one of these. Throws InputError that names the line or the element.
NodeTopology read_node_topology(const std::string& file, const std::string& text);

}  // namespace syncopate
