// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Speed of the linear kernels on matrices larger than any cache. Each case is compared with the
// unpacked matrix before it is timed. GB/s are bytes of packed weights; the probe is what plain
// reading reaches on this machine, the limit of one row. Gw/s are weights times rows of x. The
// fastest repetition is the one to quote on a busy machine:
//   linear_bench --benchmark_repetitions=9 --benchmark_filter='avx2/4bit'
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <thread>

#include "base/cat.h"
#include "base/rng.h"
#include "format/layouts/dense.h"
#include "format/layouts/uniform.h"
#include "kernels/linear.h"
#include "tests/unit/kernels/kernel_inputs.h"

namespace cupel::kernels {
namespace {

constexpr int64_t kRows = 49152, kCols = 4096;

/// A matrix whose planes hold random bits: every code is valid, and nothing has to be packed.
PackedTensor random_planes(std::shared_ptr<const format::Layout> layout, int64_t rows,
                           int64_t cols) {
  PackedTensor out;
  out.tensor = {.name = "w", .layout = layout, .rows = rows, .cols = cols};
  Rng rng(3, layout->description());
  for (const auto& spec : layout->plane_specs(rows, cols)) {
    std::size_t count = 1;
    for (const int64_t n : spec.shape) count *= static_cast<std::size_t>(n);
    format::Array array{spec.type, spec.shape,
                        std::vector<std::byte>(format::stored_bytes(spec.type, count))};
    // Sixteen-bit planes hold f16 numbers between 2^-7 and 2^-6, or pairs of them in f32 planes.
    auto* words = reinterpret_cast<uint32_t*>(array.bytes.data());
    for (std::size_t i = 0; i < array.bytes.size() / 4; ++i) words[i] = rng.next_u32();
    if (spec.type != format::ElementType::u8)
      for (std::size_t i = 0; i < array.bytes.size() / 4; ++i)
        words[i] = (words[i] & 0x03ff03ffU) | 0x20002000U;
    out.tensor.bytes += static_cast<int64_t>(array.bytes.size());
    out.planes.emplace(spec.name, std::move(array));
  }
  for (const auto& [name, array] : out.planes)
    out.tensor.planes[name] = {array.type, array.shape, array.bytes};
  return out;
}

std::shared_ptr<const format::Layout> uniform_layout(int bits, int group, bool symmetric) {
  format::UniformParams params;
  params.bits = bits;
  params.group = group;
  params.symmetric = symmetric;
  return std::make_shared<format::UniformLayout>(params);
}

std::shared_ptr<const format::Layout> dense_layout(format::ElementType type) {
  format::DenseParams params;
  params.type = type;
  return std::make_shared<format::DenseLayout>(params);
}

struct Case {
  std::string layout_name;
  std::shared_ptr<const format::Layout> layout;
  Isa isa = Isa::scalar;
  bool int8_mode = false;
  int64_t m = 1;
  std::string name() const {
    return cat(isa_name(isa), "/", layout_name, int8_mode ? "/int8" : "/exact", "/m", m);
  }
};

/// The weights of one layout are kept until another is asked for: some hundred megabytes.
const PackedTensor& weights_of(const Case& c, int64_t rows) {
  static PackedTensor kept;
  if (kept.tensor.layout != c.layout || kept.tensor.rows != rows) {
    kept = {};
    kept = random_planes(c.layout, rows, kCols);
  }
  return kept;
}

struct Prepared {
  const PackedTensor& packed;
  Linear linear;
  std::vector<float> x;
  std::unique_ptr<QuantizedRows> quantized;
  std::vector<float> y;
  LinearInput input;

  Prepared(const Case& c, int64_t rows)
      : packed(weights_of(c, rows)),
        linear(prepare_linear(packed.tensor, Device::cpu, c.isa, c.int8_mode)),
        x(normals(c.m * kCols, "x")),
        y(static_cast<std::size_t>(c.m * rows)) {
    const BlockForm form{linear.form.quantized ? linear.form.block : 32, !c.int8_mode};
    quantized = std::make_unique<QuantizedRows>(x, c.m, kCols, form, c.isa);
    input = {.x = x.data(), .m = c.m, .ldx = kCols, .quantized = &quantized->view};
  }
  void run(int64_t begin, int64_t end) { linear.run(input, y.data(), linear.rows, begin, end); }
};

/// The first stripe against the unpacked matrix; a wrong result ends the program.
void check(Prepared& p, const Case& c) {
  p.run(0, 1);
  std::vector<float> w(16 * kCols);
  p.packed.tensor.layout->unpack(p.packed.tensor.planes, p.linear.rows, kCols, 0, 16, w);
  for (int64_t r = 0; r < c.m; ++r)
    for (int64_t o = 0; o < 16; ++o) {
      double sum = 0, magnitude = 0;
      for (int64_t i = 0; i < kCols; ++i) {
        const double plain = p.x[static_cast<std::size_t>(r * kCols + i)];
        const double in = p.linear.form.quantized ? p.quantized->value(r, i) : plain;
        const double term = in * w[static_cast<std::size_t>(o * kCols + i)];
        sum += term;
        magnitude += std::abs(term);
      }
      const double y = p.y[static_cast<std::size_t>(r * p.linear.rows + o)];
      if (std::abs(y - sum) <= 1e-5 * magnitude) continue;
      std::fprintf(stderr, "%s: output %d is %g, expected %g\n", c.name().c_str(),
                   static_cast<int>(o), y, sum);
      std::exit(1);
    }
}

void run_case(benchmark::State& state, const Case& c) {
  static std::unique_ptr<Prepared> prepared;  // shared by the threads of a case
  // One row needs weights that no cache holds; with more rows the arithmetic decides.
  if (state.thread_index() == 0) {
    prepared = std::make_unique<Prepared>(c, c.isa == Isa::scalar ? kRows / 32
                                             : c.m == 1           ? kRows
                                                                  : kRows / 8);
    check(*prepared, c);
  }
  int64_t units = 0, begin = 0, end = 0;
  for (auto _ : state) {
    if (end == 0) {
      units = prepared->linear.units;
      begin = units * state.thread_index() / state.threads();
      end = units * (state.thread_index() + 1) / state.threads();
    }
    prepared->run(begin, end);
  }
  const double share = static_cast<double>(end - begin) / static_cast<double>(units);
  const double times = static_cast<double>(state.iterations()) * share * 1e-9;
  const Linear& linear = prepared->linear;
  state.counters["GB/s"] = {times * static_cast<double>(prepared->packed.tensor.bytes),
                            benchmark::Counter::kIsRate};
  state.counters["Gw/s"] = {times * static_cast<double>(linear.rows * linear.cols * c.m),
                            benchmark::Counter::kIsRate};
}

void probe(benchmark::State& state) {
  static std::vector<uint64_t> buffer;
  if (state.thread_index() == 0) buffer.assign(std::size_t{1} << 25, 1);
  uint64_t total = 0;
  std::size_t begin = 0, count = 0;
  for (auto _ : state) {
    if (count == 0) {
      count = buffer.size() / static_cast<std::size_t>(state.threads());
      begin = count * static_cast<std::size_t>(state.thread_index());
    }
    uint64_t sums[16] = {};
    for (std::size_t i = begin; i < begin + count; i += 16)
      for (std::size_t j = 0; j < 16; ++j) sums[j] ^= buffer[i + j];
    for (const uint64_t sum : sums) total += sum;
    benchmark::DoNotOptimize(total);
  }
  state.counters["GB/s"] = {
      static_cast<double>(state.iterations()) * static_cast<double>(count) * 8e-9,
      benchmark::Counter::kIsRate};
}

double fastest(const std::vector<double>& values) {
  return *std::ranges::max_element(values);
}

benchmark::internal::Benchmark* in_all_threads(benchmark::internal::Benchmark* bench) {
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  bench->UseRealTime()
      ->Unit(benchmark::kMillisecond)
      ->ComputeStatistics("max", fastest)
      ->Threads(1);
  return threads > 1 ? bench->Threads(threads) : bench;
}

void register_all() {
  using format::ElementType;
  std::vector<std::pair<std::string, std::shared_ptr<const format::Layout>>> layouts;
  for (int bits = 2; bits <= 8; ++bits)
    layouts.emplace_back(cat(bits, "bit-g64"), uniform_layout(bits, 64, false));
  layouts.emplace_back("4bit-g128-sym", uniform_layout(4, 128, true));
  for (int bits = 2; bits <= 6; ++bits)
    layouts.emplace_back(
        cat(bits, "bit-lut-g64"),
        format::make_layout("lut", cat(R"({"grid":"gaussian","group":64,"bits":)", bits, "}")));
  // The slow way of layouts without a kernel.
  layouts.emplace_back("nf4-g64", format::make_layout("lut", R"({"grid":"nf","group":64})"));
  layouts.emplace_back("f16", dense_layout(ElementType::f16));
  layouts.emplace_back("bf16", dense_layout(ElementType::bf16));
  layouts.emplace_back("f32", dense_layout(ElementType::f32));
  in_all_threads(benchmark::RegisterBenchmark("probe", probe));
  for (const auto& [name, layout] : layouts)
    for (const Isa isa : available_isas())
      for (const bool int8_mode : {false, true})
        for (const int64_t m : {1, 2, 4, 8, 32}) {
          if (int8_mode && layout->name() == "dense") continue;
          const Case c{name, layout, isa, int8_mode, m};
          in_all_threads(benchmark::RegisterBenchmark(c.name().c_str(), run_case, c));
        }
}

}  // namespace
}  // namespace cupel::kernels

int main(int argc, char** argv) {
  cupel::kernels::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
