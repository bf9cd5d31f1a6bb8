#include <doctest/doctest.h>

#include <filesystem>
#include <istream>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/gzip.hpp"
#include "dataflow/replica.hpp"

using namespace syncopate;

namespace {

/// The lines of a record, the header first.
std::vector<Json> lines_of(Dataflow& flow) {
  const auto path = std::filesystem::temp_directory_path() / "syncopate-test-dataflow.jsonl.gz";
  write_file(path, flow.take({{"point", 3}}));
  GzipBuffer buffer(path);
  std::istream stream(&buffer);
  std::vector<Json> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  std::filesystem::remove(path);
  return lines;
}

Dataflow whole_model(Optimizer optimizer = Optimizer::sgd) { return Dataflow({{"model", Bytes(8)}}, optimizer, 2); }

}  // namespace

TEST_CASE("a combination names every value once, and what cancels is not there") {
  Dataflow flow = whole_model();
  const Values x = flow.initial();
  const Values g = flow.gradient(0, 0, x, Seconds(1));
  const Values h = flow.gradient(1, 0, x, Seconds(1));
  CHECK(flow.value(x + g - g).values() == x.values());
  CHECK(flow.value(0.5 * g + 0.5 * g).values() == g.values());
  flow.value(x - hyper::lr * (mean({g, h}) + g - g) / 2);
  const std::vector<Json> lines = lines_of(flow);
  REQUIRE(lines.size() == 4);
  CHECK(lines[3] == Json::parse(R"({"o":"L","v":3,"of":[[1,0],[-0.25,1,"lr"],[-0.25,2,"lr"]]})"));
  CHECK(lines[0]["operations"] == 3);
  CHECK(lines[0]["point"] == 3);
}

TEST_CASE("what divides by a hyper-parameter says so") {
  Dataflow flow = whole_model();
  const Values g = flow.gradient(0, 0, flow.initial(), Seconds(1));
  flow.value(hyper::lr_loc * hyper::beta * (g / (hyper::lr * 4)));
  const std::vector<Json> lines = lines_of(flow);
  CHECK(lines[2]["of"] == Json::parse(R"([[0.25,1,"1/lr","beta","lr_loc"]])"));
  CHECK(lines[0]["hyper"] == Json::parse(R"({"lr":null,"beta":[0.5],"lr_loc":[1.0,"lr"]})"));
}

TEST_CASE("nothing left is zero, which is one value for each part") {
  Dataflow flow({{"end", Bytes(4)}, {"begin", Bytes(4)}}, Optimizer::sgd, 2);
  const Values x = flow.initial();
  const Values none = flow.value(x - x);
  CHECK(flow.value(x.part(1) - x.part(1)).values() == none.part(1).values());
  flow.gradient(0, 0, x, Seconds(1));
  const Json header = lines_of(flow)[0];
  CHECK(header["zeros"] == Json(none.values()));
  CHECK(header["zero_parts"] == Json({0, 1}));
  CHECK(header["initial"] == Json({0, 1}));
}

TEST_CASE("the same combination and the same step are one value, of late") {
  Dataflow flow = whole_model(Optimizer::momentum);
  Replica a(&flow, Dataflow::Makers::many);
  Replica b(&flow, Dataflow::Makers::many);
  const Values g = flow.gradient(0, 0, a.model(), Seconds(1));
  a.step(0.5 * g);
  b.step(0.5 * g);
  CHECK(a.model().values() == b.model().values());
  const auto many = [&](double factor) { return flow.value(factor * g, Dataflow::Makers::many).values(); };
  const auto first = many(2.0);
  CHECK(many(2.0) == first);
  CHECK(flow.value(2.0 * g).values() != first);  // of one maker
  for (int i = 0; i < 100; ++i) many(3.0 + i);
  CHECK(many(2.0) != first);  // forgotten: memory stays bounded
}

TEST_CASE("parts move by themselves") {
  Dataflow flow({{"end", Bytes(4)}, {"begin", Bytes(4)}}, Optimizer::adam, 2);
  Replica x(&flow, Dataflow::Makers::one);
  const Values g = flow.gradient(1, 7, x.model(), Seconds(2));
  x.step(g.part(1));
  CHECK(x.model()[0] == 0);
  CHECK(x.model()[1] != 1);
  const std::vector<Json> lines = lines_of(flow);
  CHECK(lines[1]["x"] == Json({0, 1}));
  CHECK(lines[1]["v"].size() == 2);
  CHECK(lines[2]["part"] == 1);
  CHECK(lines[2]["of"].size() == 5);  // parameters, two moments, the number of steps, the gradient
  CHECK(lines[2]["v"].size() == 4);
}

TEST_CASE("compression leaves a residual for the next message") {
  Dataflow flow = whole_model();
  const Values g = flow.gradient(0, 0, flow.initial(), Seconds(1));
  Values residual;
  flow.compress(R"("f":"top-k","k":0.5)", g, residual);
  const Values left = residual;
  flow.compress(R"("f":"top-k","k":0.5)", g, residual);
  const std::vector<Json> lines = lines_of(flow);
  CHECK(lines[2]["of"][1] == lines[0]["zeros"][0]);
  CHECK(lines[3]["of"][1] == left.values().front());
  CHECK(lines[3]["f"] == "top-k");
}

TEST_CASE("a record without gradients is none") {
  Dataflow flow = whole_model();
  flow.evaluate(0, flow.initial(), Seconds(0));
  CHECK_THROWS_AS(flow.take(Json::object()), SimulationError);
}

TEST_CASE("where nothing is recorded nothing is there") {
  Replica x;
  x.become(0.5 * x.model());
  x.step(Values());
  CHECK(x.model().empty());
}

TEST_CASE("a gzip file that is compressed as it comes holds the same text") {
  const std::string text(300'000, 'x');
  GzipText its(1);
  its.append(text);
  its.append("");
  its.append("end\n");
  const auto path = std::filesystem::temp_directory_path() / "syncopate-test-gzip";
  write_file(path, its.take());
  GzipBuffer buffer(path);
  std::istream stream(&buffer);
  std::string line;
  std::getline(stream, line);
  CHECK(line == text + "end");
  std::filesystem::remove(path);
}
