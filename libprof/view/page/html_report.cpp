#include "libprof/base/error.hpp"
#include "libprof/view/page/levels.hpp"
#include "libprof/view/page/pages.hpp"
#include "libprof/view/page/report.hpp"

namespace gpuprof::view {

std::string html_report(const Model& model, const RunSummary& summary, bool all_records,
                        const OtherRun* other) {
  std::string page(find_page("index.html")->text);
  const auto put = [&](std::string_view what, const std::string& by) {
    const std::size_t at = page.find(what);
    if (at == page.npos) throw Error("the page lacks: " + std::string(what));
    page.replace(at, what.size(), by);
  };
  put("<!doctype html>", std::string(html_begins));
  put("<meta charset=\"utf-8\">",
      "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src "
      "'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri "
      "'none'; form-action 'none'\">");
  for (const std::string sheet : {"palette.css", "style.css"}) {
    put("<link rel=\"stylesheet\" href=\"" + sheet + "\">",
        "<style>\n" + std::string(find_page(sheet)->text) + "</style>");
  }
  put("</style>\n<script",
      "</style>\n<style>\n" + std::string(find_page("report.css")->text) + "</style>\n<script");
  put("<script type=\"module\" src=\"app.js\"></script>",
      report_data(model, summary, all_records, other) + "<script type=\"module\">\n" +
          one_script(true) + "</script>");
  if (page.size() > (all_records ? most_bytes_with_all_records : most_html_bytes)) {
    throw Error("the report would have " + std::to_string(page.size()) + " bytes", part_hint,
                ExitCode::output_failed);
  }
  return page;
}

}  // namespace gpuprof::view
