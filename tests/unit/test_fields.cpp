#include <doctest/doctest.h>

#include <functional>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/fields.hpp"

using namespace syncopate;

namespace {

double value_of(const Json& json, const std::function<double(const Field&)>& read) {
  const Document document({{"v", json}}, "f.json");
  Object fields{Field(document)};
  return read(fields.at("v"));
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

double bandwidth(const Field& field) { return field.bandwidth().value; }
double latency(const Field& field) { return field.latency().value; }
double bytes(const Field& field) { return field.bytes().value; }

}  // namespace

TEST_SUITE("Are units read as their words say?") {
  TEST_CASE("bandwidth") {
    CHECK(value_of("10Gbps", bandwidth) == 1.25e9);
    CHECK(value_of("12GBps", bandwidth) == 12e9);
    CHECK(value_of("12 GB/s", bandwidth) == 12e9);
    CHECK(value_of("8Mibps", bandwidth) == 1048576.0);
    CHECK(value_of("1KiBps", bandwidth) == 1024.0);
    CHECK(value_of("800bps", bandwidth) == 100.0);
    CHECK(value_of(1.5e8, bandwidth) == 1.5e8);
  }
  TEST_CASE("latency") {
    CHECK(value_of("50us", latency) == 50e-6);
    CHECK(value_of("1.5 ms", latency) == 1.5e-3);
    CHECK(value_of("3ns", latency) == 3e-9);
    CHECK(value_of("2s", latency) == 2.0);
    CHECK(value_of(0, latency) == 0.0);
  }
  TEST_CASE("bytes") {
    CHECK(value_of("25MB", bytes) == 25e6);
    CHECK(value_of("1MiB", bytes) == 1048576.0);
    CHECK(value_of("1.5kB", bytes) == 1500.0);
    CHECK(value_of(7, bytes) == 7.0);
  }
  TEST_CASE("everything else is refused, with the whole message") {
    const std::string rate =
        "f.json: /v: expected bytes/second from 1 to 1e18 or a string such as \"10Gbps\" (bits) or \"12GBps\" (bytes), got ";
    const std::string time = "f.json: /v: expected seconds from 0 to a day (86400) or a string such as \"50us\", got ";
    const std::string size = "f.json: /v: expected a whole number of bytes from 1 to 1e15 or a string such as \"25MB\" or \"1MiB\", got ";
    struct Row {
      Json json;
      double (*read)(const Field&);
      std::string message;
    };
    const std::vector<Row> table = {
        {"10", bandwidth, rate + "\"10\""},
        {"10Gb", bandwidth, rate + "\"10Gb\""},
        {"10gbps", bandwidth, rate + "\"10gbps\""},
        {"-1Gbps", bandwidth, rate + "\"-1Gbps\""},
        {0, bandwidth, rate + "0"},
        {1e300, bandwidth, rate + "1e+300"},
        {"infGbps", bandwidth, rate + "\"infGbps\""},
        {nullptr, bandwidth, rate + "null"},
        {"50", latency, time + "\"50\""},
        {"50 minutes", latency, time + "\"50 minutes\""},
        {-1, latency, time + "-1"},
        {"2000000s", latency, time + "\"2000000s\""},
        {"nan", latency, time + "\"nan\""},
        {true, latency, time + "true"},
        {"0.5B", bytes, size + "\"0.5B\""},
        {0, bytes, size + "0"},
        {1.5, bytes, size + "1.5"},
        {-4, bytes, size + "-4"},
        {"25Mb", bytes, size + "\"25Mb\""},
        {1e16, bytes, size + "1e+16"},
    };
    for (const Row& row : table) {
      CAPTURE(row.json.dump());
      CHECK(error_of([&] { value_of(row.json, row.read); }) == row.message);
    }
  }
}

TEST_SUITE("Is every value checked and every unknown key refused?") {
  TEST_CASE("values") {
    const Document document(
        parse_json(R"({"a":0,"b":8.0,"c":8.5,"d":1e20,"e":"","f":[],"g":{"h":-1},"i":18446744073709551615,"j":5})", "f"), "f.json");
    Object fields{Field(document)};
    CHECK(error_of([&] { fields.at("a").integer(1, 9); }) == "f.json: /a: expected an integer >= 1, got 0");
    CHECK(fields.at("b").integer(1, 9) == 8);
    CHECK(error_of([&] { fields.at("c").integer(1, 9); }) == "f.json: /c: expected an integer >= 1, got 8.5");
    CHECK(error_of([&] { fields.at("d").integer(1, 9); }) == "f.json: /d: expected an integer <= 9, got 1e+20");
    CHECK(error_of([&] { fields.at("i").integer(1, 9); }) == "f.json: /i: expected an integer <= 9, got 18446744073709551615");
    CHECK(error_of([&] { fields.at("j").number(6, 9); }) == "f.json: /j: expected a number >= 6, got 5");
    CHECK(error_of([&] { fields.at("a").positive(9); }) == "f.json: /a: expected a number > 0, got 0");
    CHECK(error_of([&] { fields.at("e").text(); }) == "f.json: /e: expected a string that is not empty, got \"\"");
    CHECK(error_of([&] { fields.at("a").text(); }) == "f.json: /a: expected a string that is not empty, got 0");
    CHECK(error_of([&] { fields.at("f").list(); }) == "f.json: /f: expected a list that is not empty, got []");
    CHECK(error_of([&] { Object{fields.at("f")}; }) == "f.json: /f: expected an object, got []");
    CHECK(error_of([&] { fields.at("g").boolean(); }) == "f.json: /g: expected true or false, got {\"h\":-1}");
    CHECK(error_of([&] { Object(fields.at("g")).at("h").seconds(); }) == "f.json: /g/h: expected a number >= 0, got -1");
    CHECK(error_of([&] { fields.at("z"); }) == "f.json: /: the required key \"z\" is missing");
  }

  TEST_CASE("keys") {
    const Document document(parse_json(R"({"format":"x/2","nodse":1,"x-mine":2})", "f"), "f.json");
    Object fields{Field(document)};
    CHECK(error_of([&] { fields.format("x/1", true); }) == "f.json: /format: expected \"x/1\", got \"x/2\"");
    CHECK_FALSE(fields.find("nodes"));
    CHECK(error_of([&] { fields.finish(); }) == "f.json: /nodse: unknown key \"nodse\"; did you mean \"nodes\"?");
  }

  TEST_CASE("a key with slashes is escaped in the pointer") {
    const Document document(parse_json(R"({"a/b~c":1})", "f"), "f.json");
    CHECK(error_of([&] { Object(Field(document)).finish(); }) == "f.json: /a~1b~0c: unknown key \"a/b~c\"; known here: ");
  }
}
