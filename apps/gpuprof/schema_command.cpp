#include <iostream>

#include "apps/gpuprof/commands.hpp"
#include "schema/document.hpp"

namespace gpuprof::app {

int schema_command() {
  std::cout << schema::schema_markdown();
  return 0;
}

}  // namespace gpuprof::app
