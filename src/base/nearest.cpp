// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <cctype>

#include "base/yaml.h"

namespace cupel {
namespace {

std::string folded(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Insertions, deletions, replacements and swaps of neighbours that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view given, const std::vector<std::string>& names) {
  const std::string wanted = folded(given);
  // A third of the letters may be wrong; in a name of two letters, none but a swap or one of them.
  const std::size_t limit = std::max<std::size_t>(1, wanted.size() / 3);
  const std::string* best = nullptr;
  std::size_t best_distance = limit + 1;
  for (const std::string& name : names) {
    const std::string candidate = folded(name);
    const std::size_t distance = edit_distance(wanted, candidate);
    if (distance < best_distance && distance < std::max(wanted.size(), candidate.size())) {
      best = &name;
      best_distance = distance;
    }
  }
  if (best) return *best;
  // dampening for damp, or the other way round.
  for (const std::string& name : names) {
    const std::string candidate = folded(name);
    const std::size_t shorter = std::min(candidate.size(), wanted.size());
    if (shorter >= 3 && candidate.compare(0, shorter, wanted, 0, shorter) == 0) return name;
  }
  return {};
}

}  // namespace cupel
