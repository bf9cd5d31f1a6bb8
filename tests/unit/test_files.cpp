#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

using namespace syncopate;
namespace fs = std::filesystem;

namespace {

/// A folder that is gone with its scope.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "syncopate-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

}  // namespace

TEST_SUITE("Is a file written whole or not at all, and read only so far?") {
  TEST_CASE("each way to write leaves the text and nothing else, also in folders that are missing") {
    const Folder folder;
    for (const Durability durability : {Durability::synced, Durability::cached}) {
      const fs::path file = folder.path / "a" / "b";
      for (const std::string& text : {std::string("text"), std::string(), std::string(300'000, 'x')}) {
        write_file(file, text, durability);
        CHECK(read_file(file) == text);
      }
      CHECK(std::distance(fs::directory_iterator(file.parent_path()), fs::directory_iterator()) == 1);
      fs::remove_all(file.parent_path());
    }
    const std::string longest(255, 'n');
    write_file(folder.path / longest, "text");
    CHECK(read_file(folder.path / longest) == "text");
  }

  TEST_CASE("a file is replaced whatever it is, and what a link leads to stays") {
    const Folder folder;
    write_file(folder.path / "other", "other");
    fs::create_symlink("other", folder.path / "file");
    for (const char* const text : {"text", "", "another"}) {
      replace_file(folder.path / "file", text, Durability::cached);
      CHECK(read_file(folder.path / "file") == text);
    }
    CHECK_FALSE(fs::is_symlink(folder.path / "file"));
    CHECK(read_file(folder.path / "other") == "other");
    replace_file(folder.path / "missing" / "file", "text", Durability::cached);
    CHECK(read_file(folder.path / "missing" / "file") == "text");
    CHECK_THROWS_AS(replace_file(folder.path / "missing", "text", Durability::cached), OutputError);
    CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 3);
  }

  TEST_CASE("what cannot be written leaves nothing") {
    const Folder folder;
    fs::create_directories(folder.path / "taken");
    CHECK_THROWS_AS(write_file(folder.path / "taken", "text"), OutputError);
    CHECK_THROWS_AS(write_file(folder.path / std::string(256, 'n'), "text"), OutputError);
    CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);
  }

  TEST_CASE("a descriptor is written to, and its file stays") {
    const Folder folder;
    const fs::path log = folder.path / "log";
    write_file(log, "before ");
    const int file =
        open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);  // NOLINT(cppcoreguidelines-pro-type-vararg): that is how it is declared
    REQUIRE(file >= 0);
    for (const char* const own : {"/dev/fd/", "/proc/self/fd/"}) {
      const std::string path = own + std::to_string(file);
      require_writable(path);
      write_file(path, "text ");
    }
    close(file);
    CHECK(read_file(log) == "before text text ");
    CHECK_THROWS_AS(require_writable("/dev/fd/" + std::to_string(file)), OutputError);
    CHECK_THROWS_AS(write_file("/dev/fd/" + std::to_string(file), "text"), OutputError);
  }

  TEST_CASE("more than may be read is refused, also where a file does not say how large it is") {
    const Folder folder;
    write_file(folder.path / "ten", "0123456789");
    CHECK(read_file(folder.path / "ten", 10) == "0123456789");
    CHECK_THROWS_AS(read_file(folder.path / "ten", 9), InputError);
    CHECK_THROWS_AS(read_file("/proc/self/status", 9), InputError);
    CHECK(!read_file("/proc/self/status").empty());
  }
}

TEST_SUITE("Is what is shown harmless and short?") {
  TEST_CASE("what is escaped, and what is not") {
    struct Row {
      std::string text;
      std::string shown;
    };
    for (const Row& row :
         {Row{"plain \u00e9 \u6f22 \U0001F600 \\", "plain \u00e9 \u6f22 \U0001F600 \\"}, Row{"a\nb\tc\r", "a\\nb\\x09c\\x0d"},
          Row{"\x1b[2J\x07\x7f", "\\x1b[2J\\x07\\x7f"}, Row{"\u0080\u009b", "\\u0080\\u009b"},
          Row{"\u061c\u200e\u202e\u202c\u2066\u2069", "\\u061c\\u200e\\u202e\\u202c\\u2066\\u2069"}, Row{"\x9b\xff\xc3", "\\x9b\\xff\\xc3"},
          Row{"\xc0\x9b\xe0\x80\x9b\xed\xa0\x80", "\\xc0\\x9b\\xe0\\x80\\x9b\\xed\\xa0\\x80"}, Row{std::string("a\0b", 3), "a\\x00b"}}) {
      CAPTURE(row.text);
      CHECK(printable(row.text) == row.shown);
    }
    CHECK(printable("a\nb\x1b", true) == "a\nb\\x1b");
  }

  TEST_CASE("cuts are between characters") {
    CHECK(shortened("short", 5) == "short");
    CHECK(shortened("0123456789", 9) == "0123...89");
    std::string text;
    for (int i = 0; i < 50; ++i) text += "\u6f22";
    for (std::size_t most = 0; most < text.size(); ++most) {
      CHECK(beginning(text, most).size() == most / 3 * 3);
      const std::string cut = shortened(text, most);
      CHECK(cut.size() <= std::max<std::size_t>(3, most));
      CHECK(printable(cut) == cut);
    }
  }
}
