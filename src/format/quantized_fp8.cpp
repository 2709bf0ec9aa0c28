// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// quant_method fp8 (DeepSeek, Qwen) and fbgemm_fp8: `X.weight` in FP8, times the scale of its block
// (weight_block_size), of its row, or of the tensor.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/quantized_scaled.h"

namespace cupel::format {

void read_fp8(SchemeInput& in) {
  std::vector<ScaleBlock> known;
  if (const auto it = in.config.find("weight_block_size");
      it != in.config.end() && !it->is_null()) {
    const bool pair = it->is_array() && it->size() == 2 && (*it)[0].is_number_integer() &&
                      (*it)[1].is_number_integer();
    const ScaleBlock block =
        pair ? ScaleBlock{(*it)[0].get<int64_t>(), (*it)[1].get<int64_t>()} : ScaleBlock{0, 0};
    CUPEL_CHECK(
        block.rows > 0 && block.cols > 0, data, "quantization_config: weight_block_size is ",
        it->dump(-1, ' ', true, SchemeConfig::error_handler_t::replace), ", two sizes expected");
    known.push_back(block);
  }
  take_fp8(in, known);
}

}  // namespace cupel::format
