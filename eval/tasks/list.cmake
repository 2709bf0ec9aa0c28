# The tasks that the program carries, in the order of `cupel eval --list-tasks`.
set(CUPEL_TASKS
  piqa arc_easy arc_challenge hellaswag winogrande boolq openbookqa lambada_openai mmlu truthfulqa_mc1 truthfulqa_mc2
  copa siqa commonsense_qa wsc273 gsm8k triviaqa ifeval humaneval)

set(_tasks "")
foreach(_name ${CUPEL_TASKS})
  set(_file ${CMAKE_CURRENT_LIST_DIR}/${_name}.yaml)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_file})
  file(READ ${_file} _yaml)
  string(APPEND _tasks "      {\"${_name}\", R\"yaml(${_yaml})yaml\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/eval/builtin_tasks.cpp @ONLY CONTENT
"// Generated from eval/tasks by eval/tasks/list.cmake.
#include \"eval/harness/task.h\"

namespace cupel::eval {

const std::vector<BuiltinTask>& builtin_tasks() {
  static const std::vector<BuiltinTask> tasks = {
@_tasks@  };
  return tasks;
}

}  // namespace cupel::eval
")
