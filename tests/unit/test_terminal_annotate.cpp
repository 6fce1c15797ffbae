#include <catch2/catch.hpp>

#include <sstream>

#include "libprof/terminal/disassembly.hpp"

using gpuprof::terminal::Assembly;
using gpuprof::terminal::parse_assembly;

namespace {

Assembly parsed(const std::string& text) {
  std::istringstream stream(text);
  return parse_assembly(stream);
}

}  // namespace

TEST_CASE("nvdisasm's text is read by function and offset") {
  // As nvdisasm 13.0 -c writes it.
  const Assembly assembly = parsed(R"(	.target	sm_90

//--------------------- .text._Z5otherPf          --------------------------
	.section	.text._Z5otherPf,"ax",@progbits
        .type           _Z5otherPf,@function
_Z5otherPf:
.text._Z5otherPf:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0060*/              @!P0 STG.E desc[UR4][R2.64], R7 ;
.L_x_0:
        /*0080*/                   BRA `(.L_x_0);
.L_x_3:

//--------------------- .text._Z7stridedPKfPf     --------------------------
	.section	.text._Z7stridedPKfPf,"ax",@progbits
.text._Z7stridedPKfPf:
        /*1230*/                   EXIT ;
	.section	.nv.info,"",@progbits
        /*0000*/                   .byte 0x04
)");
  CHECK(assembly == Assembly{{"_Z5otherPf",
                              {{0, "LDC R1, c[0x0][0x28]"},
                               {0x60, "@!P0 STG.E desc[UR4][R2.64], R7"},
                               {0x80, "BRA `(.L_x_0)"}}},
                             {"_Z7stridedPKfPf", {{0x1230, "EXIT"}}}});
}

TEST_CASE("what is no instruction is left out") {
  CHECK(parsed("").empty());
  CHECK(parsed("        /*0000*/   NOP;\n").empty());
  CHECK(parsed(".text.:\n") == Assembly{{"", {}}});
  CHECK(parsed(".text.f:\n/*\n/**/ NOP;\n/*12x*/ NOP;\n/*ffffffffffffffffff*/ NOP;\n/*10*/\n"
               "/*-1*/ NOP;\n/*0020*/ ;\n") == Assembly{{"f", {}}});
}
