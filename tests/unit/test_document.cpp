#include <doctest/doctest.h>

#include <string>

#include "base/document.hpp"
#include "base/errors.hpp"

using namespace syncopate;

namespace {

std::string error_of(const std::string& text) {
  try {
    parse_json(text, "f.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_SUITE("Is bad JSON refused with its place?") {
  TEST_CASE("the whole message") {
    struct Row {
      std::string text;
      std::string message;
    };
    const std::vector<Row> table = {
        {"", "f.json: not valid JSON at line 1, column 1: the file is empty"},
        {"{\"a\":1", "f.json: not valid JSON at line 1, column 7: unexpected end of input; expected '}'"},
        {"{\n  \"a\": NaN}", "f.json: not valid JSON at line 2, column 8: NaN and Infinity are not JSON; give a finite number"},
        {"[-Infinity]", "f.json: not valid JSON at line 1, column 3: NaN and Infinity are not JSON; give a finite number"},
        {"{\"a\":1,\"a\":2}", "f.json: /: the key \"a\" appears twice; remove one of them"},
        {"{\"x\":[{},{\"b\":{\"a\":1,\"a\":2}}]}", "f.json: /x/1/b: the key \"a\" appears twice; remove one of them"},
        {"{} {}", "f.json: not valid JSON at line 1, column 4: unexpected '{'; expected end of input"},
        {"[1e999]", "f.json: not valid JSON at line 1, column 6: number overflow parsing '1e999'"},
        {std::string(100, '['), "f.json: /0/0/0"},
    };
    for (const Row& row : table) {
      CAPTURE(row.text);
      if (row.text.size() == 100) {
        CHECK(error_of(row.text).find(": nested deeper than 64 levels") != std::string::npos);
      } else {
        CHECK(error_of(row.text) == row.message);
      }
    }
  }

  TEST_CASE("keys keep their order") {
    CHECK(parse_json(R"({"z":1,"a":{"y":[1,2.5,"s",true,null]},"b":-3})", "f").dump() ==
          R"({"z":1,"a":{"y":[1,2.5,"s",true,null]},"b":-3})");
  }
}

TEST_SUITE("Does a document know where its parts came from?") {
  TEST_CASE("mounted files and set values") {
    Document scenario(parse_json(R"({"cluster":"c.json","nodes":3})", "s"), "s.json");
    const Document cluster(parse_json(R"({"nodes":8,"link":{"latency":0}})", "c"), "c.json");
    scenario.mount(JsonPointer("/cluster"), cluster);
    CHECK(scenario.where("/nodes") == "s.json: /nodes");
    CHECK(scenario.where("/cluster/nodes") == "c.json: /nodes");
    CHECK(scenario.where("/cluster") == "c.json: /");

    scenario.set(JsonPointer("/cluster/nodes"), 4, " (in point 1)");
    CHECK(scenario.root()["cluster"]["nodes"] == 4);
    CHECK(scenario.where("/cluster/nodes") == "s.json: /cluster/nodes");
    CHECK(scenario.origin("/cluster/nodes") == " (in point 1)");
    CHECK(scenario.where("/cluster/link/latency") == "c.json: /link/latency");
    CHECK(scenario.origin("/cluster/link") == " (named by s.json: /cluster)");

    scenario.set(JsonPointer("/cluster"), Json::object(), " (in point 2)");
    CHECK(scenario.where("/cluster/link") == "s.json: /cluster/link");
  }

  TEST_CASE("missing objects are made, but nothing is put into a number or past a list") {
    Document document(parse_json(R"({"a":1,"l":[{"x":1}]})", "d"), "d.json");
    document.set(JsonPointer("/new/deep"), 1, "");
    CHECK(document.root()["new"]["deep"] == 1);
    document.set(JsonPointer("/l/0/x"), 2, "");
    CHECK(document.root()["l"][0]["x"] == 2);
    CHECK_THROWS_WITH_AS(document.set(JsonPointer("/a/b"), 1, ""), "d.json: /a: cannot set /a/b: there is no such place in 1", InputError);
    CHECK_THROWS_AS(document.set(JsonPointer("/l/1"), 1, ""), InputError);
    CHECK_THROWS_AS(document.set(JsonPointer("/l/x"), 1, ""), InputError);
    CHECK_THROWS_AS(document.set(JsonPointer("/l/1/x"), 1, ""), InputError);
  }
}
