// gpuprof(1), in the man macros.
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/help/help.hpp"
#include "apps/gpuprof/option/option_table.hpp"
#include "gpuprof_version.hpp"
#include "libprof/base/exit_codes.hpp"

namespace gpuprof::app {
namespace {

// Escapes text for roff: hyphens can be copied, and no line begins with a request.
std::string escaped_for_roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
      out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + escaped_for_roff(text) + "\\fR"; }

// Paragraphs of help; indented lines stay separate.
std::string paragraphs(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    out += (out.empty() ? "" : ".br\n") + escaped_for_roff(line) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string option_entry(const Option& option) {
  std::string names = option.letter ? bold(std::string("-") + option.letter) + ", " : "";
  names += bold("--" + option.name);
  if (!option.optional.empty()) names += "[=\\fI" + escaped_for_roff(option.optional) + "\\fR]";
  if (!option.argument.empty()) names += " \\fI" + escaped_for_roff(option.argument) + "\\fR";
  return ".TP\n" + names + "\n" + paragraphs(option.help) +
         (option.why.empty() ? "" : ".br\n(" + escaped_for_roff(remark(option)) + ")\n");
}

}  // namespace

std::string man_page() {
  std::string page = ".TH GPUPROF 1 \"\" \"gpuprof " + std::string(version) + R"(" "User Commands"
.ad l
.nh
.SH NAME
gpuprof \- profile CUDA programs, print nvprof's reports
.SH SYNOPSIS
\fBgpuprof\fR [\fIoptions\fR] \fIprogram\fR [\fIarguments\fR]
.br
\fBgpuprof\fR \fB\-i\fR \fIfile\fR [\fIoptions\fR]
.br
\fBgpuprof\fR \fIcommand\fR ...
.SH DESCRIPTION
The first form runs a program and records its kernels, memory copies, CUDA calls, NVTX ranges and
more, those of its children too. With \fB\-o\fR the records go into an SQLite file with nvprof's
tables, while the program runs; without it a summary is printed at the end. The second form prints
reports of a stored run.
.PP
Options stand before the program; what follows its name is its own. A value follows its option as
the next word, which must not begin with a hyphen, or as \fB\-\-name=value\fR.
.SH OPTIONS
)";
  for (const OptionGroupInfo& group : option_groups()) {
    page += ".SS " + escaped_for_roff(group.title) + "\n";
    for (const Option& option : option_table()) {
      if (option.group == group.group && option.status != Status::not_yet) {
        page += option_entry(option);
      }
    }
  }
  page += ".SH COMMANDS\n";
  for (const Subcommand* command : subcommands()) {
    if (command->help.empty()) continue;
    page += ".TP\n" + bold("gpuprof " + std::string(command->name)) + " " +
            escaped_for_roff(command->usage) + "\n" + escaped_for_roff(command->help) + ".\n";
  }
  page +=
      ".SH EXIT STATUS\nThat of the program, 128 + the number of the signal that ended it, or:\n";
  for (const ExitCodeInfo& code : exit_codes) {
    page += ".TP\n" + std::to_string(code.number()) + "\n" + escaped_for_roff(code.meaning) + "\n";
  }
  page += R"(.SH FILES
.TP
\fB~/.config/gpuprof/config.toml\fR
Defaults, a line \fIname\fR = \fIvalue\fR each, without the hyphens of the option: texts and
lists in quotes, numbers, true and false. In \fB$XDG_CONFIG_HOME\fR where that is set. Options
that say what one call is to do have no place there: files, reports, filters, metrics and events,
\fB\-\-csv\fR, \fB\-\-json\fR and \fB\-\-top\fR.
.SH ENVIRONMENT
.TP
\fBGPUPROF_\fINAME\fR
The same defaults, which go before those of the file: \fBGPUPROF_FLUSH_PERIOD\fR for
\fB\-\-flush\-period\fR. Empty ones do not count.
.TP
\fBGPUPROF_CONFIG\fR, \fBGPUPROF_NO_CONFIG\fR
As \fB\-\-config\fR, and as \fB\-\-no\-config\fR where it is not empty.
.TP
\fBTMPDIR\fR
Folder of temporary files.
.TP
\fBNO_COLOR\fR
No colour on a terminal.
.SH EXAMPLES
.TP
\fBgpuprof ./vector_add\fR
Run it and print a summary.
.TP
\fBgpuprof \-o run.sqlite python train.py\fR
Record into run.sqlite while it runs.
.TP
\fBgpuprof \-i run.sqlite \-\-print\-gpu\-trace \-\-csv \-\-log\-file trace.csv\fR
Each kernel and copy of that run, as comma\-separated values in a file.
.TP
\fBgpuprof \-i run.sqlite \-\-kernels gemm \-\-from 1.5s \-\-to 2s\fR
Summary of the kernels with gemm in their names, of half a second.
)";
  return page;
}

}  // namespace gpuprof::app
