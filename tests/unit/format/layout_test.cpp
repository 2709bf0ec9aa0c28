// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Conformance walks the registry, so a new layout is checked as soon as it has its line there.
#include "format/layout.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "base/error.h"
#include "format/layouts/uniform.h"
#include "tests/unit/export/tiny_model.h"

namespace cupel::format {
namespace {

using test::random_code;
using LayoutPtr = std::shared_ptr<const Layout>;

std::vector<LayoutPtr> layouts_to_check() {
  std::vector<LayoutPtr> all;
  for (const Alternative& a : layout_alternatives())
    all.push_back(make_layout(Choice(layout_alternatives(), a.name)));
  for (int bits = 2; bits <= 8; ++bits)
    for (const int group : {0, 32, 64, 128})
      for (const bool symmetric : {false, true})
        all.push_back(make_layout("uniform", cat(R"({"bits":)", bits, R"(,"group":)", group,
                                                 R"(,"symmetric":)", symmetric, "}")));
  const std::pair<const char*, const char*> others[] = {
      {"dense", R"({"type":"f16"})"},
      {"dense", R"({"type":"bf16"})"},
      {"uniform", R"({"bits":1,"group":32})"},
      {"fp8", R"({"element":"e5m2","scale":"tensor"})"},
      {"fp8", R"({"scale":"block"})"},
      {"mx", R"({"element":"e2m3"})"},
      {"mx", R"({"element":"e3m2"})"},
      {"mx", R"({"element":"e4m3"})"},
      {"mx", R"({"element":"e5m2","group":16})"},
      {"ternary", R"({"packing":"two-bit","group":0})"},
      {"lut", R"({"grid":"fp4","scale":"f32"})"},
      {"lut", R"({"grid":"nf","bits":3,"group":0,"scale":"e4m3"})"},
      {"lut", R"({"grid":"sign","bits":1,"group":32})"},
      {"sinh", R"({"bits":2,"mirror":false})"},
      {"row-table", R"({"bits":1})"},
      {"nested", R"({"bits":8,"kept":3,"group":32})"},
      {"mixed", R"({"rows":0,"cols":32,"parts":[{"layout":{"uniform":{"bits":2}},"share":0.5},
                   {"layout":"nvfp4","share":0.3},{"layout":{"fp8":{"scale":"tensor"}},"share":0.2}]})"},
      {"mixed", R"({"rows":16,"cols":16,"parts":[{"layout":"row-table","share":0.9},
                   {"layout":{"dense":{"type":"f16"}},"share":0.1}]})"},
      {"sum",
       R"({"base":"nvfp4","rank":3,"full_rows":2,"factors":{"uniform":{"bits":4,"group":32}}})"},
      {"sum", R"({"base":"uniform","rank":0,"full_rows":1})"},
  };
  for (const auto& [name, params] : others) all.push_back(make_layout(name, params));
  return all;
}

/// Calls check(code, planes, views) for a random code of each layout and size.
template <class Check>
void for_each_code(Check&& check) {
  for (const LayoutPtr& layout : layouts_to_check())
    for (const int64_t rows : {1, 17, 32})
      for (const int64_t cols : {1, 32, 100, 576}) {
        SCOPED_TRACE(cat(layout->name(), " ", layout->description(), " ", rows, " x ", cols));
        const WeightCode code = random_code(layout, rows, cols, Rng(3, layout->description()));
        const Planes planes = layout->pack(code);
        PlaneViews views;
        for (const auto& [name, plane] : planes)
          views[name] = {plane.type, plane.shape, plane.bytes};
        check(code, planes, views);
      }
}

std::vector<float> decoded(const WeightCode& code) {
  std::vector<float> out(static_cast<std::size_t>(code.rows * code.cols));
  code.layout->decode(code, out);
  return out;
}

template <class Body>
Fault fault_of(Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.fault();
  }
  ADD_FAILURE() << "nothing was thrown";
  return Fault::internal;
}

TEST(LayoutConformance, UnpackArraysInvertsPack) {
  for_each_code([](const WeightCode& code, const Planes& planes, const PlaneViews& views) {
    auto again = code;
    again.arrays = code.layout->unpack_arrays(views, code.rows, code.cols);
    ASSERT_EQ(again.arrays.size(), code.arrays.size());
    for (const auto& [name, array] : code.arrays) {
      EXPECT_EQ(again.arrays.at(name).type, array.type) << name;
      EXPECT_EQ(again.arrays.at(name).shape, array.shape) << name;
      EXPECT_EQ(again.arrays.at(name).bytes, array.bytes) << name;
    }
    for (const auto& [name, plane] : code.layout->pack(again))
      EXPECT_EQ(plane.bytes, planes.at(name).bytes) << name;
  });
}

TEST(LayoutConformance, PlanesAreThoseOfTheSpecsAndBitsCountThem) {
  for_each_code([](const WeightCode& code, const Planes& planes, const PlaneViews&) {
    std::size_t bytes = 0;
    const auto specs = code.layout->plane_specs(code.rows, code.cols);
    EXPECT_EQ(specs.size(), planes.size());
    for (const auto& spec : specs) {
      const Array& plane = planes.at(spec.name);
      EXPECT_EQ(plane.type, spec.type) << spec.name;
      EXPECT_EQ(plane.shape, spec.shape) << spec.name;
      bytes += plane.bytes.size();
    }
    EXPECT_EQ(code.layout->bits(code.rows, code.cols), static_cast<int64_t>(8 * bytes));
  });
}

TEST(LayoutConformance, UnpackOfAnyRowsEqualsDecodeBitForBit) {
  for_each_code([](const WeightCode& code, const Planes&, const PlaneViews& views) {
    const auto whole = decoded(code);
    for (const int64_t count : {int64_t{1}, int64_t{5}, code.rows})
      for (int64_t row = 0; row + count <= code.rows; ++row) {
        std::vector<float> part(static_cast<std::size_t>(count * code.cols));
        code.layout->unpack(views, code.rows, code.cols, row, count, part);
        ASSERT_EQ(std::memcmp(part.data(), whole.data() + row * code.cols, part.size() * 4), 0)
            << "rows " << row << " + " << count;
      }
  });
}

TEST(LayoutConformance, ParametersSurviveTheirJson) {
  for (const LayoutPtr& layout : layouts_to_check()) {
    const std::string json = params_json(layout->params());
    const LayoutPtr again = make_layout(layout->name(), json);
    EXPECT_EQ(params_json(again->params()), json);
    EXPECT_EQ(again->description(), layout->description());
  }
}

TEST(LayoutConformance, ArraysThatBreakTheRulesAreRefused) {
  for (const LayoutPtr& layout : layouts_to_check()) {
    SCOPED_TRACE(cat(layout->name(), " ", layout->description()));
    const WeightCode good = random_code(layout, 17, 100, Rng(4));
    for (const auto& [name, array] : good.arrays) {
      WeightCode bad = good;
      bad.arrays.erase(name);
      EXPECT_EQ(fault_of([&] { layout->pack(bad); }), Fault::data) << name;
      bad = good;
      bad.arrays[name].bytes.pop_back();
      EXPECT_EQ(fault_of([&] { layout->pack(bad); }), Fault::data) << name;
      bad = good;
      bad.arrays[name].type = ElementType::i64;
      EXPECT_EQ(fault_of([&] { layout->pack(bad); }), Fault::data) << name;
      bad = good;
      bad.rows = 33;
      EXPECT_EQ(fault_of([&] { layout->pack(bad); }), Fault::data) << name;
    }
  }
}

TEST(LayoutConformance, PlanesOfAnotherSizeAreRefused) {
  for_each_code([](const WeightCode& code, const Planes& planes, const PlaneViews& views) {
    for (const auto& [name, plane] : planes) {
      PlaneViews bent = views;
      bent[name].bytes = bent[name].bytes.first(plane.bytes.size() - 1);
      EXPECT_EQ(fault_of([&] { code.layout->unpack_arrays(bent, code.rows, code.cols); }),
                Fault::data);
      bent.erase(name);
      EXPECT_EQ(fault_of([&] { code.layout->unpack_arrays(bent, code.rows, code.cols); }),
                Fault::data);
    }
  });
}

/// The plane read by the words of uniform.h, one bit field after the other.
int code_in_plane(const Array& plane, int bits, int64_t chunks, int64_t o, int64_t i) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(plane.bytes.data());
  int64_t line_at = (o / 16 * chunks + i / 32) * bits * 64;
  int code = 0, shift = 0;
  for (const int width : {8, 4, 2, 1}) {
    if ((bits & width) == 0) continue;
    const int64_t per_line = 32 / width, input = i % 32 % per_line;
    const uint8_t byte = bytes[line_at + i % 32 / per_line * 64 + o % 16 * 4 + input % 4];
    code |= (byte >> (input / 4 * width) & ((1 << width) - 1)) << shift;
    shift += width;
    line_at += width * 64;
  }
  return code;
}

TEST(UniformLayout, BitsLieWhereTheHeaderSays) {
  for_each_code([](const WeightCode& code, const Planes& planes, const PlaneViews&) {
    const auto* uniform = dynamic_cast<const UniformLayout*>(code.layout.get());
    if (!uniform) return;
    const int bits = uniform->bits_per_code();
    const int64_t chunks = (code.cols + 31) / 32, stripes = (code.rows + 15) / 16;
    const int64_t groups = uniform->groups(code.cols);
    const auto codes = code.arrays.at("codes").as<uint8_t>();
    for (int64_t o = 0; o < stripes * 16; ++o)
      for (int64_t i = 0; i < chunks * 32; ++i) {
        const int64_t g = std::min(i / uniform->group_width(code.cols), groups - 1);
        int expected = 1 << (bits - 1);
        if (!uniform->symmetric())
          expected =
              planes.at("zeros")
                  .as<uint8_t>()[static_cast<std::size_t>((o / 16 * groups + g) * 16 + o % 16)];
        if (o < code.rows && i < code.cols)
          expected = codes[static_cast<std::size_t>(o * code.cols + i)];
        ASSERT_EQ(code_in_plane(planes.at("codes"), bits, chunks, o, i), expected) << o << ' ' << i;
      }
  });
}

TEST(UniformLayout, NearestCodesOfDecodedValuesAreTheCodes) {
  for_each_code([](const WeightCode& code, const Planes&, const PlaneViews&) {
    const auto* uniform = dynamic_cast<const UniformLayout*>(code.layout.get());
    if (!uniform) return;
    const auto w_oi = decoded(code);
    const auto codes = code.arrays.at("codes").as<uint8_t>();
    const int64_t groups = uniform->groups(code.cols);
    for (int64_t o = 0; o < code.rows; ++o)
      for (int64_t i = 0; i < code.cols; ++i) {
        const auto at = static_cast<std::size_t>(o * groups + i / uniform->group_width(code.cols));
        const float scale = f16_to_f32(code.arrays.at("scales").as<uint16_t>()[at]);
        const int zero = uniform->symmetric() ? 1 << (uniform->bits_per_code() - 1)
                                              : code.arrays.at("zeros").as<uint8_t>()[at];
        if (scale == 0) continue;
        const auto place = static_cast<std::size_t>(o * code.cols + i);
        ASSERT_EQ(std::lround(w_oi[place] / scale) + zero, codes[place]);
      }
  });
}

TEST(UniformLayout, BitsPerWeightOfAnAlignedMatrix) {
  const auto layout = make_layout("uniform", R"({"bits":3,"group":64,"symmetric":false})");
  EXPECT_EQ(layout->description(), "3-bit g64 asym");
  EXPECT_DOUBLE_EQ(static_cast<double>(layout->bits(64, 512)) / (64 * 512), 3 + 24.0 / 64);
}

TEST(UniformLayout, ValuesOutsideTheGridAreRefused) {
  const auto layout = make_layout("uniform", R"({"bits":3,"group":32,"symmetric":false})");
  const WeightCode good = random_code(layout, 4, 64, Rng(5));
  WeightCode bad = good;
  bad.arrays["codes"].bytes[70] = std::byte{8};
  EXPECT_EQ(fault_of([&] { layout->pack(bad); }), Fault::data);
  bad = good;
  bad.arrays["zeros"].bytes[1] = std::byte{8};
  EXPECT_EQ(fault_of([&] { layout->pack(bad); }), Fault::data);
  bad = good;
  bad.arrays["scales"].bytes[3] = std::byte{0x7c};
  EXPECT_EQ(fault_of([&] { layout->pack(bad); }), Fault::data);
}

TEST(DenseLayout, EncodesItsOwnValuesUnchangedAndRefusesNaN) {
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
    const std::vector<float> values = {1.25f, -3e-5f, 0.1f, 1000.7f, -0.0f, 3};
    const WeightCode once = dense_code(type, 2, 3, values);
    const WeightCode twice = dense_code(type, 2, 3, decoded(once));
    EXPECT_EQ(once.arrays.at("values").bytes, twice.arrays.at("values").bytes);
    const std::vector<float> nan = {1, std::nanf("")};
    EXPECT_EQ(fault_of([&] { once.layout->pack(dense_code(type, 1, 2, nan)); }), Fault::data);
  }
}

TEST(MakeLayout, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(fault_of([] { make_layout("trellis9", "{}"); }), Fault::data);
  for (const char* json :
       {R"({"bits":9})", R"({"bits":0})", R"({"bits":3.5})", R"({"bits":"3"})", R"({"group":48})",
        R"({"group":2048})", R"({"group":-32})", R"({"bits":4294967300})", R"({"symmetric":1})",
        R"({"width":3})", "[]", "3", "{", "", R"({"bits":null})"})
    EXPECT_EQ(fault_of([&] { make_layout("uniform", json); }), Fault::data) << json;
  EXPECT_EQ(fault_of([] { make_layout("dense", R"({"type":"q4_0"})"); }), Fault::data);
  Choice choice(layout_alternatives(), "uniform");
  dynamic_cast<UniformParams&>(*choice.params).group = 48;
  EXPECT_EQ(fault_of([&] { make_layout(choice); }), Fault::user);
}

}  // namespace
}  // namespace cupel::format
