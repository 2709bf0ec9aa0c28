// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/file.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "support.h"

namespace cupel {
namespace {

using test::error_of;
using test::TempFolder;

TEST(File, MapsAndMoves) {
  const TempFolder folder;
  const std::string path = folder.file("a");
  write_atomic(path, "hello");
  MappedFile map(path);
  MappedFile other(std::move(map));
  ASSERT_EQ(other.bytes().size(), 5u);
  EXPECT_EQ(static_cast<char>(other.bytes()[4]), 'o');
  EXPECT_EQ(other.path(), path);
  MappedFile third;
  third = std::move(other);
  EXPECT_EQ(third.bytes().size(), 5u);
}

TEST(File, EmptyFile) {
  const TempFolder folder;
  write_atomic(folder.file("a"), "");
  EXPECT_TRUE(MappedFile(folder.file("a")).bytes().empty());
  EXPECT_EQ(read_text(folder.file("a")), "");
}

TEST(File, MissingFileAndFolderAreTheUsersMistake) {
  const TempFolder folder;
  const Error missing = error_of([&] { MappedFile map(folder.file("none")); });
  EXPECT_EQ(missing.fault(), Fault::user);
  EXPECT_NE(missing.message().find("none"), std::string::npos);
  EXPECT_EQ(error_of([&] { read_text(folder.file("")); }).fault(), Fault::user);
}

TEST(File, ReadsLargeAndSizelessFiles) {
  const TempFolder folder;
  const std::string text(3'000'001, 'x');
  write_atomic(folder.file("a"), text);
  EXPECT_EQ(read_text(folder.file("a")), text);
  EXPECT_FALSE(read_text("/proc/self/status").empty());
}

TEST(File, WriteAtomicReplacesAndLeavesNothingElse) {
  const TempFolder folder;
  write_atomic(folder.file("a"), "old");
  write_atomic(folder.file("a"), "new");
  EXPECT_EQ(read_text(folder.file("a")), "new");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(File, WriteAtomicKeepsLinks) {
  const TempFolder folder;
  write_atomic(folder.file("a"), "old");
  std::filesystem::create_symlink("a", folder.file("link"));
  write_atomic(folder.file("link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_EQ(read_text(folder.file("a")), "new");
}

TEST(File, WriteAtomicIntoMissingFolder) {
  const TempFolder folder;
  const Error e = error_of([&] { write_atomic(folder.file("no/a"), "x"); });
  EXPECT_EQ(e.fault(), Fault::environment);
  EXPECT_NE(e.message().find("no/a"), std::string::npos);
  EXPECT_TRUE(folder.names().empty());
}

TEST(File, WriterThatFailsLeavesTheOldFile) {
  const TempFolder folder;
  write_atomic(folder.file("a"), "old");
  error_of([&] {
    write_atomic_with(folder.file("a"), [](const std::string& temporary) {
      std::ofstream(temporary) << "half";
      fail(Fault::data, "stop");
    });
  });
  EXPECT_EQ(read_text(folder.file("a")), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(File, FullDeviceIsNamed) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  const Error e = error_of([] { write_atomic("/dev/full", "x"); });
  EXPECT_EQ(e.fault(), Fault::environment);
  EXPECT_EQ(e.message(), "can't write '/dev/full': the disk is full");
}

TEST(File, LimitReachedWhileWritingRemovesTheTemporary) {
  const TempFolder folder;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Error e = error_of([&] { write_atomic(folder.file("a"), std::string(100'000, 'x')); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(e.fault(), Fault::environment);
  EXPECT_TRUE(folder.names().empty());
}

TEST(File, PipesAreWrittenInPlace) {
  const TempFolder folder;
  const std::string path = folder.file("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::FILE* keep = std::fopen(path.c_str(), "r+");
  ASSERT_TRUE(keep);
  write_atomic(path, "text\n");
  char line[16] = {};
  EXPECT_TRUE(std::fgets(line, sizeof line, keep));
  std::fclose(keep);
  EXPECT_STREQ(line, "text\n");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"pipe"});
}

TEST(File, MakeFolder) {
  const TempFolder folder;
  make_folder(folder.file("a/b/c"));
  make_folder(folder.file("a/b/c"));
  EXPECT_TRUE(std::filesystem::is_directory(folder.file("a/b/c")));
  write_atomic(folder.file("f"), "");
  EXPECT_EQ(error_of([&] { make_folder(folder.file("f")); }).fault(), Fault::environment);
  EXPECT_EQ(error_of([&] { make_folder(folder.file("f/g")); }).fault(), Fault::environment);
}

TEST(File, CacheFolder) {
  ::setenv("CUPEL_CACHE", "/somewhere", 1);
  EXPECT_EQ(cache_folder(), "/somewhere");
  ::unsetenv("CUPEL_CACHE");
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  ::setenv("HOME", "/home/x", 1);
  EXPECT_EQ(cache_folder(), "/home/x/.cache/cupel");
  ::unsetenv("HOME");
  EXPECT_EQ(error_of([] { cache_folder(); }).fault(), Fault::environment);
  ::setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace cupel
