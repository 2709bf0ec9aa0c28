// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string_view>

#include "text/function_ref.h"
#include "text/part.h"

namespace cupel::text {

/// A piece of text on its way to the model; valid during the call that hands it over.
struct Piece {
  std::string_view text;  ///< never empty
  bool at_start = false;  ///< it begins where the whole input began
};
using PieceSink = FunctionRef<void(const Piece&)>;

/// A step that cuts text into pieces, which no token may cross. Immutable, thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void split(const Piece& piece, PieceSink sink) const = 0;
};

/// The steps of a tokenizer, with one shortcut: where the last one is ByteLevel, the mapping of
/// bytes to characters is left to the caller, who can then look pieces up as they stand in the
/// input.
struct PreTokenizers {
  std::unique_ptr<PreTokenizer> steps;  ///< null if there is nothing to split
  bool map_bytes = false;               ///< pieces still have to go through append_byte_level
};
PreTokenizers make_pretokenizers(const Part& part);

/// What becomes of the matches of a pattern.
enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };
Behavior read_behavior(const Part& part);

/// Turns matches, handed over from left to right, into pieces of `piece`.
class Splitter {
 public:
  Splitter(const Piece& piece, Behavior behavior, bool invert, PieceSink sink)
      : piece_(piece), behavior_(behavior), invert_(invert), sink_(sink) {}
  void match(std::size_t start, std::size_t end);
  void finish();

 private:
  void event(std::size_t start, std::size_t end, bool is_match);
  void flush();

  Piece piece_;
  Behavior behavior_;
  bool invert_;
  PieceSink sink_;
  std::size_t done_ = 0;                       // the text up to here has been handed to event()
  std::size_t held_start_ = 0, held_end_ = 0;  // a piece that may still grow
  bool holds_ = false, previous_match_ = false;
};

}  // namespace cupel::text
