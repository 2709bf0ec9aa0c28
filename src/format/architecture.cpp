// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/architecture.h"

#include <charconv>

#include "base/error.h"

namespace cupel::format {
namespace {

constexpr std::string_view kHole = "{}";

const NamePattern* pattern_of(const Architecture& arch, Role role) {
  for (const NamePattern& p : arch.names)
    if (p.role == role) return &p;
  return nullptr;
}

const NamePattern& known_pattern(const Architecture& arch, Role role) {
  const NamePattern* p = pattern_of(arch, role);
  CUPEL_CHECK(p, internal, "family ", arch.family, " has no ", role_name(role));
  return *p;
}

/// The number at the start of `text`, which it is removed from; -1 if there is none.
int take_number(std::string_view& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), number);
  if (error != std::errc() || number < 0) return -1;
  const auto length = static_cast<std::size_t>(end - text.begin());
  if (length > 1 && text.front() == '0') return -1;
  text.remove_prefix(length);
  return number;
}

std::optional<WeightId> identify(const Architecture& arch, std::string_view name,
                                 std::initializer_list<const char * NamePattern::*> fields) {
  for (const NamePattern& p : arch.names)
    for (const auto field : fields) {
      WeightId id{p.role};
      if (*(p.*field) != '\0' && matches_pattern(p.*field, name, id.layer, id.expert)) return id;
    }
  return std::nullopt;
}

}  // namespace

const Architecture& architecture_of_family(std::string_view model_type) {
  std::vector<std::string> known;
  for (const Architecture& a : architectures()) {
    if (model_type == a.family) return a;
    known.emplace_back(a.family);
  }
  fail(Fault::data, "model_type '", model_type, "' is not supported (known: ", list_text(known),
       ")");
}

const Architecture& architecture_of_gguf(std::string_view name) {
  std::vector<std::string> known;
  for (const Architecture& a : architectures())
    for (const char* of_family : a.gguf_names) {
      if (name == of_family) return a;
      known.emplace_back(of_family);
    }
  fail(Fault::data, "GGUF architecture '", name, "' is not supported (known: ", list_text(known),
       ")");
}

bool matches_pattern(std::string_view pattern, std::string_view name, int& layer, int& expert) {
  layer = expert = -1;
  for (int* number : {&layer, &expert}) {
    const std::size_t hole = pattern.find(kHole);
    if (hole == std::string_view::npos) return name == pattern;
    if (!name.starts_with(pattern.substr(0, hole))) return false;
    name.remove_prefix(hole);
    pattern.remove_prefix(hole + kHole.size());
    *number = take_number(name);
    if (*number < 0) return false;
  }
  return name == pattern;
}

std::string fill_pattern(std::string_view pattern, int layer, int expert) {
  std::string out;
  for (const int number : {layer, expert}) {
    const std::size_t hole = pattern.find(kHole);
    if (hole == std::string_view::npos) break;
    out += cat(pattern.substr(0, hole), number);
    pattern.remove_prefix(hole + kHole.size());
  }
  return out.append(pattern);
}

std::vector<int64_t> fused_shape(const ModelConfig& config, const FusedPattern& pattern) {
  std::vector<int64_t> shape = config.shape_of(pattern.parts.front());
  shape[0] = 0;
  for (const Role part : pattern.parts) shape[0] += config.shape_of(part)[0];
  if (pattern.of_experts) shape.insert(shape.begin(), config.experts.count);
  return shape;
}

std::string canonical_name(const Architecture& arch, WeightId id) {
  return fill_pattern(known_pattern(arch, id.role).canonical, id.layer, id.expert);
}
std::string gguf_name(const Architecture& arch, WeightId id) {
  return fill_pattern(known_pattern(arch, id.role).gguf, id.layer, id.expert);
}
std::optional<WeightId> id_of_canonical(const Architecture& arch, std::string_view name) {
  return identify(arch, name, {&NamePattern::canonical, &NamePattern::other});
}
std::optional<WeightId> id_of_gguf(const Architecture& arch, std::string_view name) {
  return identify(arch, name, {&NamePattern::gguf});
}

}  // namespace cupel::format
