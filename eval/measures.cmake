# perplexity and divergence: texts, blocks, saved references
target_sources(cupel_eval PRIVATE
  protocol.cpp block_list.cpp corpus.cpp wikitext.cpp tally.cpp targets.cpp estimate.cpp
  divergence_result.cpp token_class.cpp result_json.cpp report_divergence.cpp
  top_tokens.cpp reference_header.cpp reference_writer.cpp reference_reader.cpp)
