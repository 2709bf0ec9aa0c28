cupel_test(export_artifact_test
  SOURCES artifact_writer_test.cpp packer_test.cpp h5_test.cpp hf_tensors_test.cpp hf_tokenizer_test.cpp
  LINK cupel::export cupel::h5 cupel::format LABELS unit)
