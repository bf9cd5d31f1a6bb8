#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/files.hpp"
#include "capture/devices.hpp"
#include "capture/random_values.hpp"

// Trains a model and writes all that was computed into a new folder: <kind>.<iteration>.f32 for each kind of numbers, one array
// after the other in the order of model/1, and index.json with their names and lengths, the labels of every head and the losses.

namespace syncopate::capture {

namespace {

static_assert(std::endian::native == std::endian::little);

class Folder {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) { make_writable_folder(path_); }

  void add(const std::string& kind, const std::string& name, const std::vector<float>& values) {
    std::ofstream file(path_ / (kind + ".f32"), std::ios::binary | std::ios::app);
    std::string bytes(values.size() * sizeof(float), '\0');
    std::memcpy(bytes.data(), values.data(), bytes.size());
    file << bytes;
    if (!file.flush()) throw OutputError(fmt::format("{}: cannot write {}", path_.string(), kind));
    index_["arrays"][kind].push_back({name, values.size()});
  }

  void add_head(const std::string& layer, const std::vector<std::int64_t>& labels) {
    index_["heads"].push_back({{"layer", layer}, {"labels", labels}});
  }
  void add_loss(double loss) { index_["losses"].push_back(loss); }
  void finish() const { write_file(path_ / "index.json", index_.dump(2)); }

 private:
  std::filesystem::path path_;
  Json index_;
};

/// Biases start at 0 and scales at 1: a device that forgot them would not be noticed.
void disturb_vectors(Device& device, const Network& network) {
  std::mt19937 random(1);
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    for (std::size_t tensor = 0; tensor < network.model.layers[i].tensors.size(); ++tensor) {
      if (network.model.layers[i].tensors[tensor].shape.size() > 1) continue;
      const Array array = {Array::Kind::parameter, i, tensor};
      std::vector<float> values = device.read(array);
      for (float& value : values) value += 0x1p-33F * static_cast<float>(random()) - 0.25F;
      device.write(array, values);
    }
  }
}

void add_tensors(Folder& folder, const std::string& name, Device& device, const Network& network, Array::Kind kind) {
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    for (std::size_t tensor = 0; tensor < network.model.layers[i].tensors.size(); ++tensor)
      folder.add(name, network.model.layers[i].tensors[tensor].name, device.read({kind, i, tensor}));
  }
}

/// What a dropout layer makes of ones in this iteration: 0 or 2. Leaves everything as it was.
std::vector<float> dropout_factors(Device& device, const Network& network, std::size_t layer) {
  const std::size_t source = network.model.layers[layer].inputs.front();
  const Array input = source == Model::input_layer ? Array{Array::Kind::input} : Array{Array::Kind::output, source};
  const Array output = {Array::Kind::output, layer};
  const std::vector<float> values = device.read(input);
  const std::vector<float> result = device.read(output);
  device.write(input, std::vector<float>(values.size(), 1.0F));
  device.forward(layer);
  std::vector<float> factors = device.read(output);
  device.write(input, values);
  device.write(output, result);
  return factors;
}

void train(Device& device, const Network& network, std::size_t iteration, Folder& folder) {
  const std::size_t layers = network.layers.size();
  const auto add = [&](const std::string& kind, const std::string& name, const std::vector<float>& values) {
    folder.add(fmt::format("{}.{}", kind, iteration), name, values);
  };
  add_tensors(folder, fmt::format("parameters.{}", iteration), device, network, Array::Kind::parameter);
  device.begin(Run::queued);
  for (std::size_t i = 0; i < layers; ++i) {
    const ModelLayer& layer = network.model.layers[i];
    device.forward(i);
    add("outputs", layer.name, device.read({Array::Kind::output, i}));  // before a ReLU writes over it
    if (layer.op->name == "dropout") add("factors", layer.name, dropout_factors(device, network, i));
  }
  device.forward(layers);
  folder.add_loss(device.loss());
  for (std::size_t i = layers + 1; i-- > 0;) {
    device.backward(i);
    if (i < layers && network.layers[i].trains)
      add("output_gradients", network.model.layers[i].name, device.read({Array::Kind::output_gradient, i}));
  }
  add_tensors(folder, fmt::format("gradients.{}", iteration), device, network, Array::Kind::parameter_gradient);
  device.update();
}

struct Options {
  std::filesystem::path model;
  std::int64_t batch;
  std::size_t iterations;
  std::filesystem::path folder;
  std::string device = "cpu";
  std::string dtype = "fp32";
  std::string optimizer = "sgd";
};

void run(const Options& options) {
  const DeviceRow& row = find_device(options.device);
  const Network network = plan_network(read_model(Document::read(options.model)), options.batch, options.dtype, row.layout(options.dtype),
                                       options.optimizer == "adam" ? Optimizer::adam : Optimizer::sgd);
  const std::unique_ptr<Device> device = row.make({});
  device->set_up(network);
  disturb_vectors(*device, network);
  Folder folder(options.folder);
  folder.add("input", "$input", device->read({Array::Kind::input}));
  for (const std::size_t head : network.heads) {
    const Shape& shape = network.shape(head);
    const std::int64_t classes = shape.size() == 3 ? shape[0] : shape.back();
    folder.add_head(network.model.layers[head].name, random_labels(network.layers[head].elements / classes, classes));
  }
  for (std::size_t iteration = 0; iteration < options.iterations; ++iteration) train(*device, network, iteration, folder);
  add_tensors(folder, fmt::format("parameters.{}", options.iterations), *device, network, Array::Kind::parameter);
  folder.finish();
}

}  // namespace

}  // namespace syncopate::capture

int main(int argc, char** argv) {
  if (argc != 8) {
    fmt::print(stderr, "usage: capture_values MODEL BATCH ITERATIONS FOLDER cpu|cuda DTYPE sgd|adam\n");
    return 2;
  }
  try {
    syncopate::capture::run({argv[1], std::stoll(argv[2]), std::stoul(argv[3]), argv[4], argv[5], argv[6], argv[7]});
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "capture_values: {}\n", error.what());
    return 1;
  }
}
