// Names of kernels for people, by those of a captured PyTorch run.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "libprof/derive/display_names.hpp"

using namespace gpuprof::derive;

namespace {

KernelName name(std::string short_form, std::string demangled, std::int64_t id = 1) {
  return {.id = id,
          .value = "_Z" + demangled,
          .demangled = std::move(demangled),
          .short_form = std::move(short_form)};
}

const std::string lambda = "{lambda()#1}::operator()() const::{lambda()#7}::operator()() const::";

const std::vector<KernelName> torch{
    name("Kernel2",
         "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>("
         "cutlass_80_simt_sgemm_128x32_8x5_nn_align1::Params)"),
    name("vectorized_elementwise_kernel",
         "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::"
         "launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, c10::Scalar, "
         "at::native::detail::ClampLimits)::" +
             lambda + "{lambda(float)#1}, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)"),
    name("vectorized_elementwise_kernel",
         "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
         "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)"),
    name("vectorized_elementwise_kernel",
         "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, "
         "std::array<char*, 1ul> >(int, at::native::FillFunctor<int>, std::array<char*, 1ul>)"),
    name(
        "vectorized_elementwise_kernel",
        "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, "
        "float, at::native::(anonymous namespace)::threshold_kernel_impl<float>("
        "at::TensorIteratorBase&, float, float)::{lambda(float, float)#1}>, std::array<char*, 3ul> "
        ">(int, std::array<char*, 3ul>)"),
    name(
        "kernel",
        "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, true, true, "
        "false, 7, cublasGemvParamsEx<int, float> >(cublasGemvParamsEx<int, float>)"),
    name("kernel",
         "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float, true, "
         "false, "
         "false, 7, cublasGemvParamsEx<int, float> >(cublasGemvParamsEx<int, float>)"),
    name("reduce_kernel",
         "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
         "at::native::MeanOps<float, float, float, float>, unsigned int, float, 4, 4> >("
         "at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned "
         "int, float, 4, 4>)"),
    name("reduce_kernel",
         "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
         "at::native::func_wrapper_t<float, at::native::sum_functor<float, float, "
         "float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, "
         "4, 4> >()"),
    name("reduce_kernel",
         "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, "
         "at::native::func_wrapper_t<float, at::native::sum_functor<float, float, "
         "float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, "
         "4, 4> >()"),
    name("splitKreduce_kernel", "void cublasLt::splitKreduce_kernel<32, 16, int>(float*)"),
    {.id = 1, .value = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n", .demangled = "", .short_form = ""},
};

}  // namespace

TEST_CASE("display names: functors and arguments tell kernels of one template apart") {
  CHECK(display_names(torch) == std::vector<std::string>{
                                    "Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>",
                                    "vectorized_elementwise_kernel<…launch_clamp_scalar…>",
                                    "vectorized_elementwise_kernel<…FillFunctor<float>…>",
                                    "vectorized_elementwise_kernel<…FillFunctor<int>…>",
                                    "vectorized_elementwise_kernel<…BinaryFunctor…>",
                                    "kernel<…true…>",
                                    "kernel<…false…>",
                                    "reduce_kernel<…MeanOps…>",
                                    "reduce_kernel<512…sum_functor…>",
                                    "reduce_kernel<128…sum_functor…>",
                                    "splitKreduce_kernel",
                                    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n",
                                });
}

TEST_CASE("display names: what is alone is short") {
  CHECK(display_names(std::vector{torch[2]}) ==
        std::vector<std::string>{"vectorized_elementwise_kernel"});
  CHECK(display_names(std::vector<KernelName>{}).empty());
}

TEST_CASE("display names: whatever the names are, no two are the same, in any order") {
  std::vector<KernelName> names = torch;
  const char* odd[][2] = {
      {"f", "void f<1, 2>()"},
      {"f", "void f<2, 1>()"},
      {"f", "void a::f<2, 1>()"},
      {"f", "void f<>"},
      {"f", "f"},
      {"", "f<((("},
      {"g", "void g(int)"},
      {"g", "void g(float)"},
      {"g", "void g(int, float)"},
      {"", ""},
      {"h", "void nothing()"},
      {"f", "void f<…1…>()"},
      {"f<1…>", "f<1…>"},
      {">>", ">> > )))"},
      {"f", "void f<>>>>"},
  };
  for (const auto& [short_form, demangled] : odd) names.push_back(name(short_form, demangled));
  names.push_back(names.back());  // the same texts with another id
  for (std::size_t i = 0; i < names.size(); ++i) names[i].id = static_cast<std::int64_t>(i) + 1;
  const std::vector<std::string> displays = display_names(names);
  CHECK(std::set(displays.begin(), displays.end()).size() == names.size());

  std::mt19937 random(3);
  std::vector<std::size_t> order(names.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  std::vector<KernelName> shuffled;
  for (const std::size_t i : order) shuffled.push_back(names[i]);
  const std::vector<std::string> again = display_names(shuffled);
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(again[i] == displays[order[i]]);
}
