// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "format/score_merges.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace cupel::format {
namespace {

struct Ranked {
  MergedPair pair;
  float score;
  std::size_t left, right;  ///< characters
  std::size_t left_id, right_id;
  std::size_t whole_id;
};

bool is_start(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}

bool before(const Ranked& a, const Ranked& b) {
  if (a.score != b.score) return a.score > b.score;
  if (a.left != b.left) return a.left > b.left;
  if (a.right != b.right) return a.right > b.right;
  return std::tie(a.whole_id, a.left_id, a.right_id) < std::tie(b.whole_id, b.left_id, b.right_id);
}

}  // namespace

std::vector<MergedPair> score_merges(const std::vector<ScoredPiece>& pieces) {
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t id = 0; id < pieces.size(); ++id)
    if (pieces[id].merges) ids.emplace(pieces[id].text, id);
  std::vector<Ranked> all;
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    if (!pieces[id].merges) continue;
    const std::string_view whole = pieces[id].text;
    const auto size = static_cast<std::size_t>(std::count_if(whole.begin(), whole.end(), is_start));
    std::size_t left = 1;
    for (std::size_t at = 1; at < whole.size(); ++at) {
      if (!is_start(whole[at])) continue;
      const std::string_view a = whole.substr(0, at), b = whole.substr(at);
      const auto first = ids.find(a), second = ids.find(b);
      if (first != ids.end() && second != ids.end())
        all.push_back(
            {{a, b}, pieces[id].score, left, size - left, first->second, second->second, id});
      ++left;
    }
  }
  std::sort(all.begin(), all.end(), before);
  std::vector<MergedPair> out;
  out.reserve(all.size());
  for (const Ranked& r : all) out.push_back(r.pair);
  return out;
}

}  // namespace cupel::format
