// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// Packed matrices of integers: the canonical sum of cpu.h over Ints. A line is 64 bytes, 16 outputs x 4 codes; a quad is
// the line of codes of 4 successive inputs, 8 quads make a chunk. A few rows of x take the numbers straight from their
// packed lines; more rows share a panel, one stripe of 1024 inputs unpacked to bytes (16 KiB, it stays in the
// first-level cache).
//
// A reader gives the numbers of a quad: Plain<bits> the codes themselves, Looked<bits> their entries in a table.
// A level brings its forms, the ways to multiply codes with a chunk of x for several rows:
//   Buffer, prepare(), rows()  what the form makes of the input once for all stripes, and where rows of it begin
//   Sums                       integer sums of one row and 16 outputs over a block
//   quads<first, last>()       adds quads of one chunk;  total<half>()  the block's integer sum

namespace cupel::kernels {
namespace {

constexpr int kHalves = 16 / kLanes;   // vectors of 16 outputs
constexpr int64_t kChunk = 32;
constexpr int64_t kSegmentChunks = 32;
constexpr int64_t kBatchRows = 32;     // rows of x that are prepared together
constexpr int kDirectRows = 4;         // up to so many rows of x take the codes from their packed lines
constexpr int64_t kFetchAhead = 4096;  // bytes in front of one stream: 15 % faster than the processor's own prefetching
constexpr int64_t kBufferInputs = kBatchRows * kSegmentChunks * kChunk;

struct Line {
  Ints half[kHalves];
};
struct Sums16 {
  Vec half[kHalves];
};

inline Line load_line(const uint8_t* p) {
  Line line;
  for (int h = 0; h < kHalves; ++h) line.half[h] = load_ints(p + h * 4 * kLanes);
  return line;
}

/// ORs the quad's part of one field into `line`. The field's codes of `width` bits go to bit `shift` of each byte.
template <int width, int shift, int quad>
inline void add_field(const uint8_t* field, Line& line) {
  constexpr int kPerLine = 8 / width, kRight = quad % kPerLine * width - shift;
  constexpr int kMask = ((1 << width) - 1) << shift;
  const Ints mask = splat_int(kMask * 0x01010101);
  const Line packed = load_line(field + quad / kPerLine * 64);
  for (int h = 0; h < kHalves; ++h)
    line.half[h] = or_ints(line.half[h], and_ints(shift_right16<kRight>(packed.half[h]), mask));
}

/// The codes of a quad from a packed chunk.
template <int bits, int quad>
inline Line codes_of(const uint8_t* chunk) {
  if constexpr (bits == 8) return load_line(chunk + quad * 64);
  Line line;
  for (Ints& half : line.half) half = splat_int(0);
  if constexpr ((bits & 4) != 0) add_field<4, 0, quad>(chunk, line);
  if constexpr ((bits & 2) != 0) add_field<2, bits & 4, quad>(chunk + (bits & 4) * 64, line);
  if constexpr ((bits & 1) != 0) add_field<1, bits & 6, quad>(chunk + (bits & 6) * 64, line);
  return line;
}

/// body<0>() to body<n - 1>(): an unrolled loop whose index is a constant, so that arrays indexed by it are registers.
template <int n, class Body>
inline __attribute__((always_inline)) void repeat(Body body) {
  if constexpr (n > 0) {
    repeat<n - 1>(body);
    body.template operator()<n - 1>();
  }
}

/// Codes that are numbers.
template <int bits>
struct Plain {
  static constexpr int kBits = bits;
  static constexpr bool kBytes = bits == 8;  ///< numbers need all 8 bits
  explicit Plain(const CodedMatrix& /*w*/) {}
  template <int quad>
  Line line(const uint8_t* chunk) const {
    return codes_of<bits, quad>(chunk);
  }
};

/// Codes that name entries of a table of up to 64 bytes, 16 of them in a register.
template <int bits>
struct Looked {
  static constexpr int kBits = bits;
  static constexpr bool kBytes = true;
  static constexpr int kParts16 = bits > 4 ? 1 << (bits - 4) : 1;
  Ints table[kParts16];

  explicit Looked(const CodedMatrix& w) {
    for (int p = 0; p < kParts16; ++p) table[p] = splat_table(w.table + 16 * p);
  }
  template <int quad>
  Line line(const uint8_t* chunk) const {
    Line line = codes_of<bits, quad>(chunk);
    for (Ints& half : line.half) half = entry<0, kParts16>(half);
    return line;
  }
  /// The entry among parts [first, first + count).
  template <int first, int count>
  Ints entry(Ints codes) const {
    if constexpr (count == 1) return look_up(table[first], codes);
    if constexpr (count > 1) {
      constexpr int kBit = count == 2 ? 4 : 5;
      return pick_by_bit<kBit>(codes, entry<first + count / 2, count / 2>(codes), entry<first, count / 2>(codes));
    }
  }
};

/// Packed chunks to a panel of bytes.
template <class Reader>
void unpack_panel(const Reader& reader, const uint8_t* packed, int64_t chunks, uint8_t* panel) {
  for (int64_t c = 0; c < chunks; ++c, packed += Reader::kBits * 64, panel += 8 * 64) {
    repeat<8>([&]<int quad>() __attribute__((always_inline)) {
      const Line line = reader.template line<quad>(packed);
      for (int h = 0; h < kHalves; ++h) store_ints(panel + quad * 64 + h * 4 * kLanes, line.half[h]);
    });
  }
}

/// One call of the kernel.
struct Job {
  const CodedMatrix& w;
  const QuantizedInput& x;
  float* y;
  int64_t ldy, stripe_begin, stripe_end;
  int64_t chunks, groups, blocks, block_chunks;
  int64_t group_blocks;   ///< activation blocks per group
  bool long_segment;      ///< a group longer than 1024: the whole row is one segment
};

/// Chunks [begin, end) of a job, and the rows of x from `row` on.
struct Part {
  int64_t begin, end, row;
  const uint8_t* ahead = nullptr;   ///< packed codes to fetch meanwhile, one chunk for each of the part
};

/// Starts loading the lines of a packed chunk to the second-level cache.
inline void fetch_chunk(const uint8_t* chunk, int bits) {
  for (int line = 0; line < bits; ++line) __builtin_prefetch(chunk + line * 64, 0, 2);
}

/// Half `h` of the scales of a group; `group` counts those of all stripes.
template <int h>
inline Vec scales_of(const CodedMatrix& w, int64_t group, const Sums16& outer) {
  using format::ScaleType;
  const auto* bytes = static_cast<const uint8_t*>(w.scales);
  const int64_t at = group * 16 + h * kLanes;
  if (w.scale_type == ScaleType::f16 && w.outer_o == nullptr)
    return load_f16(static_cast<const uint16_t*>(w.scales) + at);
  const Vec scale = w.scale_type == ScaleType::f16    ? load_f16(static_cast<const uint16_t*>(w.scales) + at)
                    : w.scale_type == ScaleType::e8m0 ? load_e8m0(bytes + at)
                    : w.scale_type == ScaleType::e4m3 ? load_e4m3(bytes + at) * splat(256.0F)
                                                      : load_nibbles<h>(bytes + group * 8);
  return scale * outer.half[h];
}

/// Where a run stands: the block of x and the group of w.
struct Place {
  int64_t block, group, in_group;
  void next(const Job& job) {
    ++block;
    if (++in_group < job.group_blocks) return;
    in_group = 0;
    ++group;
  }
};

/// Adds the products of one block to the running sums.
template <class Form, int rows>
inline __attribute__((always_inline)) void add_block(const Job& job, const Place& at, int64_t row, const Sums16& outer,
                                                     const typename Form::Sums (&products)[rows],
                                                     Sums16 (&sums)[rows]) {
  const float* x_scales = job.x.scales + row * job.blocks + at.block;
  const int32_t* x_sums = job.x.sums + row * job.blocks + at.block;
  repeat<kHalves>([&]<int h>() __attribute__((always_inline)) {
    const Vec scale = scales_of<h>(job.w, at.group, outer);
    const Ints zero = job.w.zeros != nullptr ? load_bytes(job.w.zeros + at.group * 16 + h * kLanes)
                                             : splat_int(job.w.zero);
    repeat<rows>([&]<int r>() __attribute__((always_inline)) {
      const Ints offset = mul_ints(zero, splat_int(x_sums[r * job.blocks]));
      const Vec product = to_floats(sub_ints(Form::template total<h>(products[r]), offset));
      sums[r].half[h] = fma(scale * splat(x_scales[r * job.blocks] * job.w.unit), product, sums[r].half[h]);
    });
  });
}

/// The outer scales of a stripe.
inline Sums16 outer_of(const CodedMatrix& w, int64_t stripe) {
  Sums16 outer;
  const int64_t left = w.rows - stripe * 16;
  for (int h = 0; h < kHalves; ++h)
    outer.half[h] = w.outer_o == nullptr ? splat(1.0F)
                                         : load_first(w.outer_o + stripe * 16 + h * kLanes,
                                                      left - h * kLanes < kLanes ? left - h * kLanes : kLanes);
  return outer;
}

/// Adds up to 1024 inputs, [begin, end) in chunks, to the running sums of a segment. `halves`: a block is half a chunk.
template <class Form, bool halves, int rows, class Reader>
__attribute__((noinline)) void add_run(const Job& job, const Reader& reader, int64_t stripe, const uint8_t* codes,
                                       const Part& part, const typename Form::Rows& x, Sums16 (&sums)[rows]) {
  const int64_t first = part.begin * kChunk;
  Place at{first / job.x.block, stripe * job.groups + first / job.w.group, first % job.w.group / job.x.block};
  const Sums16 outer = outer_of(job.w, stripe);
  const auto fetch = [&](int64_t chunk) {
    if (part.ahead != nullptr) fetch_chunk(part.ahead + (chunk - part.begin) * job.w.bits * 64, job.w.bits);
  };
  if constexpr (halves) {
    for (int64_t chunk = part.begin; chunk < part.end; ++chunk, codes += Reader::kBits * 64) {
      fetch(chunk);
      repeat<2>([&]<int side>() __attribute__((always_inline)) {
        if (at.block >= job.blocks) return;   // padding
        typename Form::Sums products[rows] = {};
        Form::template quads<side * 4, side * 4 + 4>(reader, products, codes, x, chunk);
        add_block<Form, rows>(job, at, part.row, outer, products, sums);
        at.next(job);
      });
    }
  } else {
    for (int64_t chunk = part.begin; chunk < part.end; at.next(job)) {
      typename Form::Sums products[rows] = {};
      const int64_t last = chunk + job.block_chunks < part.end ? chunk + job.block_chunks : part.end;
      for (; chunk < last; ++chunk, codes += Reader::kBits * 64) {
        fetch(chunk);
        Form::template quads<0, 8>(reader, products, codes, x, chunk);
      }
      add_block<Form, rows>(job, at, part.row, outer, products, sums);
    }
  }
}

/// The outputs of a stripe that exist, and where they lie for one row.
struct Outputs {
  float* y;
  int64_t count;
  Sums16 load() const {
    Sums16 out;
    for (int h = 0; h < kHalves; ++h)
      out.half[h] = count == 16 ? kernels::load(y + h * kLanes) : load_first(y + h * kLanes, count - h * kLanes);
    return out;
  }
  void store(const Sums16& in) const {
    for (int h = 0; h < kHalves; ++h)
      count == 16 ? kernels::store(y + h * kLanes, in.half[h])
                  : store_first(y + h * kLanes, in.half[h], count - h * kLanes);
  }
};

/// A part of one stripe for `rows` rows of x; y carries the sum from part to part.
template <class Form, bool halves, int rows, class Reader>
void stripe_part(const Job& job, const Reader& reader, int64_t stripe, const uint8_t* codes, const Part& part,
                 const typename Form::Buffer& buffer, int64_t batch_row) {
  const int64_t left = job.w.rows - stripe * 16;
  float* y = job.y + part.row * job.ldy + stripe * 16;
  const typename Form::Rows x = Form::rows(job.x, buffer, part, batch_row);
  Sums16 total[rows], sums[rows];
  for (int r = 0; r < rows; ++r) {
    for (int h = 0; h < kHalves; ++h) total[r].half[h] = sums[r].half[h] = zeros();
    if (part.begin > 0) (job.long_segment ? sums : total)[r] = Outputs{y + r * job.ldy, left < 16 ? left : 16}.load();
  }
  for (int64_t c = part.begin; c < part.end; c += kSegmentChunks, codes += kSegmentChunks * Reader::kBits * 64) {
    const Part run{c, c + kSegmentChunks < part.end ? c + kSegmentChunks : part.end, part.row,
                   part.ahead != nullptr ? part.ahead + (c - part.begin) * job.w.bits * 64 : nullptr};
    add_run<Form, halves, rows>(job, reader, stripe, codes, run, x, sums);
    if (job.long_segment && run.end < job.chunks) continue;
    for (int r = 0; r < rows; ++r) {
      for (int h = 0; h < kHalves; ++h) {
        total[r].half[h] = total[r].half[h] + sums[r].half[h];
        sums[r].half[h] = zeros();
      }
    }
  }
  const bool carry_sum = job.long_segment && part.end < job.chunks;
  for (int r = 0; r < rows; ++r)
    Outputs{y + r * job.ldy, left < 16 ? left : 16}.store(carry_sum ? sums[r] : total[r]);
}

/// Rows [part.row, end) by tiles of `rows`, what is left by narrower ones.
template <class Form, bool halves, int rows, class Reader>
void tile_rows(const Job& job, const Reader& reader, int64_t stripe, const uint8_t* codes, Part part, int64_t end,
               const typename Form::Buffer& buffer, int64_t batch_row) {
  for (; part.row + rows <= end; part.row += rows, part.ahead = nullptr)
    stripe_part<Form, halves, rows>(job, reader, stripe, codes, part, buffer, batch_row);
  if constexpr (rows > 1)
    if (part.row < end) tile_rows<Form, halves, rows / 2>(job, reader, stripe, codes, part, end, buffer, batch_row);
}

/// Parts outermost, so that the prepared rows of x stay in the caches for all stripes. With few rows a part is as wide
/// as the buffer allows, because then the weights come from memory, best in one stream.
template <class Form, bool halves, class Reader>
void multiply(const Job& job) {
  const Reader reader(job.w);
  const Plain<8> bytes(job.w);
  constexpr bool kUnpacked = std::is_same_v<Reader, Plain<8>>;
  alignas(64) typename Form::Buffer buffer;
  alignas(64) uint8_t panel[kSegmentChunks * 8 * 64];
  const bool direct = job.x.m <= kDirectRows;
  const int64_t step = kSegmentChunks * (direct ? kBatchRows / job.x.m : 1);
  for (int64_t c = 0; c < job.chunks; c += step) {
    const int64_t last = c + step < job.chunks ? c + step : job.chunks;
    for (int64_t row = 0; row < job.x.m; row += kBatchRows) {
      Part part{c, last, row};
      const int64_t end = row + kBatchRows < job.x.m ? row + kBatchRows : job.x.m;
      Form::prepare(job.x, part, end, buffer);
      for (int64_t stripe = job.stripe_begin; stripe < job.stripe_end; ++stripe) {
        const uint8_t* codes = job.w.codes + (stripe * job.chunks + c) * Reader::kBits * 64;
        if (direct) {
          part.ahead = codes + kFetchAhead;
          tile_rows<Form, halves, kDirectRows>(job, reader, stripe, codes, part, end, buffer, row);
          continue;
        }
        if constexpr (!kUnpacked) unpack_panel(reader, codes, last - c, panel);
        part.ahead = stripe + 1 < job.stripe_end ? codes + job.chunks * Reader::kBits * 64 : nullptr;
        tile_rows<Form, halves, Form::kRows>(job, bytes, stripe, kUnpacked ? codes : panel, part, end, buffer, row);
      }
    }
  }
}

/// Picks the form; the level defines it.
template <bool halves, class Reader>
void multiply_form(const Job& job);

template <template <int> class Reader, bool halves>
void multiply_bits(const Job& job) {
  switch (job.w.bits) {
    case 1: return multiply_form<halves, Reader<1>>(job);
    case 2: return multiply_form<halves, Reader<2>>(job);
    case 3: return multiply_form<halves, Reader<3>>(job);
    case 4: return multiply_form<halves, Reader<4>>(job);
    case 5: return multiply_form<halves, Reader<5>>(job);
    case 6: return multiply_form<halves, Reader<6>>(job);
    default: break;
  }
  if constexpr (std::is_same_v<Reader<8>, Plain<8>>)
    job.w.bits == 7 ? multiply_form<halves, Plain<7>>(job) : multiply_form<halves, Plain<8>>(job);
}

void coded(const CodedMatrix& w, const QuantizedInput& x, float* y, int64_t ldy, int64_t stripe_begin,
           int64_t stripe_end) {
  if (x.m == 0) return;
  const Job job{.w = w,
                .x = x,
                .y = y,
                .ldy = ldy,
                .stripe_begin = stripe_begin,
                .stripe_end = stripe_end,
                .chunks = x.k_padded / kChunk,
                .groups = (w.cols + w.group - 1) / w.group,
                .blocks = (x.k + x.block - 1) / x.block,
                .block_chunks = x.block / kChunk,
                .group_blocks = (w.group + x.block - 1) / x.block,
                .long_segment = w.group > kSegmentChunks * kChunk};
  const bool halves = x.block < kChunk;
  if (w.table != nullptr)
    halves ? multiply_bits<Looked, true>(job) : multiply_bits<Looked, false>(job);
  else
    multiply_bits<Plain, false>(job);
}

}  // namespace
}  // namespace cupel::kernels
