// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/threads.h"

#include "base/cgroup.h"
#include "base/file.h"
#include "support.h"

namespace cupel {
namespace {

TEST(Threads, Plausible) {
  EXPECT_GE(usable_processors(), 1);
  EXPECT_GT(peak_resident_bytes(), 1e6);
  const double before = now_seconds();
  EXPECT_GE(now_seconds(), before);
}

class CgroupTest : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    make_folder(std::filesystem::path(folder_.file(path)).parent_path().string());
    write_atomic(folder_.file(path), text);
  }
  double processors(const std::string& membership) {
    return cgroup_processors(membership, folder_.file("."));
  }

  test::TempFolder folder_;
};

TEST_F(CgroupTest, Version2TakesTheSmallestOfTheParents) {
  put("cpu.max", "max 100000\n");
  put("a/cpu.max", "150000 100000\n");
  put("a/b/cpu.max", "400000 100000\n");
  EXPECT_EQ(processors("0::/a/b\n"), 1.5);
  EXPECT_EQ(processors("0::/a\n"), 1.5);
  EXPECT_EQ(processors("0::/\n"), 0);
}

TEST_F(CgroupTest, Version2OfAContainerSeesOnlyItsRoot) {
  put("cpu.max", "200000 100000\n");
  EXPECT_EQ(processors("0::/\n"), 2);
  EXPECT_EQ(processors("0::/outside/of/the/container\n"), 2);
}

TEST_F(CgroupTest, Version1) {
  put("cpu/docker/x/cpu.cfs_quota_us", "250000\n");
  put("cpu/docker/x/cpu.cfs_period_us", "100000\n");
  put("cpu/cpu.cfs_quota_us", "-1\n");
  put("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors("5:cpuset:/docker/x\n4:cpu,cpuacct:/docker/x\n0::/\n"), 2.5);
  EXPECT_EQ(processors("4:cpu,cpuacct:/\n"), 0);
  EXPECT_EQ(processors("4:cpuset:/docker/x\n"), 0);
}

TEST_F(CgroupTest, NothingKnown) {
  EXPECT_EQ(processors(""), 0);
  EXPECT_EQ(processors("nonsense\n"), 0);
}

}  // namespace
}  // namespace cupel
