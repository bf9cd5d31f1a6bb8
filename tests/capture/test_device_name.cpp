#include <doctest/doctest.h>

#include <string>

#include "base/errors.hpp"
#include "capture/device_name.hpp"

using namespace syncopate;
using namespace syncopate::capture;

TEST_SUITE("Does --device name one device, or say what is wrong with it?") {
  TEST_CASE("devices") {
    CHECK(parse_device("cpu") == DeviceName{"cpu", 0});
    CHECK(parse_device("cuda") == DeviceName{"cuda", 0});
    CHECK(parse_device("cuda:0") == DeviceName{"cuda", 0});
    CHECK(parse_device("cuda:15") == DeviceName{"cuda", 15});
  }

  TEST_CASE("mistakes") {
    const auto message = [](const char* text) -> std::string {
      try {
        parse_device(text);
      } catch (const UsageError& error) {
        return error.what();
      }
      return "";
    };
    CHECK(message("") == "--device is missing; use cuda or cpu");
    CHECK(message("tpu").starts_with("--device tpu: expected cuda, cuda:N or cpu"));
    CHECK(message("cdua:1") == "--device cdua:1: expected cuda, cuda:N or cpu; did you mean \"cuda\"?");
    CHECK(message("cpu:1") == "--device cpu:1: the CPU has no number; use --device cpu");
    for (const std::string wrong : {"cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda: 1", "cuda:1x", "cuda:1:2", "cuda:99999999999"}) {
      CAPTURE(wrong);
      CHECK(message(wrong.c_str()) == "--device " + wrong + ": expected cuda:N, where N counts GPUs from 0");
    }
  }
}
