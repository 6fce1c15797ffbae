#include "schema/document.hpp"

#include "apps/gpuprof/commands.hpp"

namespace gpuprof::app {

extern const Subcommand schema_command{
    .name = "schema",
    .help = "Print the tables and views as Markdown",
    .rare = true,
    .declare = prints<schema::schema_markdown>,
};

}  // namespace gpuprof::app
