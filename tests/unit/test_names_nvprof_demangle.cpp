#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "libprof/names/demangle.hpp"
#include "libprof/names/nvprof_demangle.hpp"

using gpuprof::nvprof_demangled;

namespace {

struct Pair {
  std::string mangled;
  std::string printed;
};

// What nvprof 11.8 printed for databases with these kernel names.
const std::vector<Pair> seen = {
    {"_Z13matrixMulCUDAILi32EEvPfS0_S0_ii",
     "void matrixMulCUDA<int=32>(float*, float*, float*, int, int)"},
    {"_Z16__nv_static_barv", "__nv_static_barv"},
    {"_Z1Av", "A(void)"},
    {"_Z1Bv", "B(void)"},
    {"_Z1Cv", "C(void)"},
    {"_Z1fILd4000000000000000EEvv", "void f<double=4000000000000000>(void)"},
    {"_Z1fIiEvN3FooIT_E4typeE", "void f<int>(Foo<int>::type)"},
    {"_Z1fM3FooFivE", "f(int (Foo::*) (void))"},
    {"_Z1fM3Fooi", "f(int Foo::*)"},
    {"_Z1gILPKc0EEvv", "void g<char const *=0>(void)"},
    {"_Z1gIXadL_Z3fooiEEEvv", "void g<__operator_&__(foo(int))>(void)"},
    {"_Z1hILN2ns1EE3EEvv", "void h<ns::E>(void)"},
    {"_Z1hIN2ns1EEEvv", "void h<ns::E>(void)"},
    {"_Z3barILb1EEvv", "void bar<bool=1>(void)"},
    {"_Z3barILc97EEvv", "void bar<char=97>(void)"},
    {"_Z3barILin5EEvv", "void bar<int=-5>(void)"},
    {"_Z3barILj7ELl8ELm9ELx10ELy11EEvv",
     "void bar<unsigned int=7, long=8, unsigned long=9, __int64=10, __int64=11>(void)"},
    {"_Z3barIfLi3EEvPT_", "void bar<float, int=3>(float*)"},
    {"_Z3barIiEvT_", "void bar<int>(int)"},
    {"_Z3foo13__nv_bfloat16", "foo(__nv_bfloat16)"},
    {"_Z3foo6__half", "foo(__half)"},
    {"_Z3fooA10_i", "foo(int[10])"},
    {"_Z3fooIiE", "foo"},
    {"_Z3fooNSt3__16vectorIiNS_9allocatorIiEEEE",
     "foo(std::__1::vector<int, std::__1::allocator<int>>)"},
    {"_Z3fooOi", "foo(int&)"},
    {"_Z3fooPFivE", "foo(int (*) (void))"},
    {"_Z3fooPKc", "foo(char const *)"},
    {"_Z3fooPvPKvPVi", "foo(void*, void const *, int volatile *)"},
    {"_Z3fooRA10_KiS1_", "foo(int const [10]&, int const [10]&)"},
    {"_Z3fooRKSs",
     "foo(std::basic_string<char, std::char_traits<char>, std::allocator<char>> const &)"},
    {"_Z3fooRKd", "foo(double const &)"},
    {"_Z3fooRVKi", "foo(int volatile &)"},
    {"_Z3fooSs", "foo(std::basic_string<char, std::char_traits<char>, std::allocator<char>>)"},
    {"_Z3fooSt4pairIifE", "foo(std::pair<int, float>)"},
    {"_Z3foocahstjlmxynowfdeg",
     "foo(char, char, unsigned char, short, unsigned short, unsigned int, long, unsigned long, "
     "__int64, __int64, __int128, __int128, wchar_t, float, double, long double, __float128)"},
    {"_Z3fooi", "foo(int)"},
    {"_Z3foov", "foo(void)"},
    {"_Z3fooz", "foo(...)"},
    {"_Z4betav", "beta(void)"},
    {"_Z4lastv", "last(void)"},
    {"_Z5alphav", "alpha(void)"},
    {"_Z5deltav", "delta(void)"},
    {"_Z5gammav", "gamma(void)"},
    {"_Z5shortILs5EEvv", "void short<short=5>(void)"},
    {"_Z6parentv", "parent(void)"},
    {"_Z6reduceIfLj512ELb1EEvPT_S1_j",
     "void reduce<float, unsigned int=512, bool=1>(float*, float*, unsigned int)"},
    {"_Z9vectorAddPKfS0_Pfi", "vectorAdd(float const *, float const *, float*, int)"},
    {"_ZN12_GLOBAL__N_13fooEv", "_GLOBAL__N_1::foo(void)"},
    {"_ZN1AC1Ev", "A::__complete_object_constructor__(void)"},
    {"_ZN1AclEi", "A::__operator_()__(int)"},
    {"_ZN1AcviEv", "A::operator (cast)(void)"},
    {"_ZN1AplERKS_", "A::__operator_+__(A const &)"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEENS_"
     "6detail5ArrayIPcLi1EEEEEviT0_T1_",
     "void at::native::vectorized_elementwise_kernel<int=4, at::native::FillFunctor<float>, "
     "at::detail::Array<char*, int=1>>(int, float, at::native::FillFunctor<float>)"},
    {"_ZN2ns3Cls6methodEi", "ns::Cls::method(int)"},
    {"_ZN2ns3bazEv", "ns::baz(void)"},
    {"_ZN3FooIiE3barEv", "Foo<int>::bar(void)"},
    {"_ZN3FooIiLj4EE6kernelEPT_", "Foo<int, unsigned int=4>::kernel(int*)"},
    {"_ZN3cub17CUB_200200_800_NS18DeviceReduceKernelINS0_12DeviceReduceIfE9Policy600EPfS5_iNS0_"
     "3SumEEEvT0_T1_T2_NS0_13GridEvenShareIS9_EES8_",
     "void "
     "cub::CUB_200200_800_NS::DeviceReduceKernel<cub::CUB_200200_800_NS::DeviceReduce<float>::"
     "Policy600, float*, float*, int, "
     "cub::CUB_200200_800_NS::Sum>(cub::CUB_200200_800_NS::DeviceReduce<float>::Policy600, float*, "
     "float*, cub::CUB_200200_800_NS::GridEvenShare<float*>, "
     "cub::CUB_200200_800_NS::DeviceReduce<float>::Policy600)"},
    {"_ZN6thrust8cuda_cub4core13_kernel_agentINS0_14__parallel_for16ParallelForAgentINS0_20__"
     "uninitialized_fill7functorINS_10device_ptrIfEEfEEmEES9_mEEvT0_T1_",
     "void "
     "thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<"
     "thrust::cuda_cub::__uninitialized_fill::functor<thrust::device_ptr<float>, float>, unsigned "
     "long>, thrust::cuda_cub::__uninitialized_fill::functor<thrust::device_ptr<float>, float>, "
     "unsigned long>(thrust::device_ptr<float>, float)"},
    {"_ZN7cutlass6KernelINS_4gemm6kernel4GemmIfEEEEvNT_6ParamsE",
     "void cutlass::Kernel<cutlass::gemm::kernel::Gemm<float>>(floatParams)"},
};

// What nvprof runs that people published show, with the mangled names that the kernels'
// declarations give.
const std::vector<Pair> published = {
    {"_ZN3cub30DeviceRadixSortDownsweepKernelINS_"
     "21DeviceRadixSortPolicyIiiiE9Policy700ELb1ELb0EiiiEEvPKT2_PS4_PKT3_PS8_PT4_SC_iiNS_"
     "13GridEvenShareISC_EE",
     "void cub::DeviceRadixSortDownsweepKernel<cub::DeviceRadixSortPolicy<int, int, "
     "int>::Policy700, bool=1, bool=0, int, int, int>(cub::DeviceRadixSortPolicy<int, int, "
     "int>::Policy700 const *, cub::DeviceRadixSortDownsweepKernel<cub::DeviceRadixSortPolicy<int, "
     "int, int>::Policy700, bool=1, bool=0, int, int, int>*, bool=1 const *, "
     "cub::DeviceRadixSortDownsweepKernel<cub::DeviceRadixSortPolicy<int, int, int>::Policy700, "
     "bool=1, bool=0, int, int, int>**, bool=0*, "
     "cub::DeviceRadixSortDownsweepKernel<cub::DeviceRadixSortPolicy<int, int, int>::Policy700, "
     "bool=1, bool=0, int, int, int>**, int, int, "
     "cub::GridEvenShare<cub::DeviceRadixSortDownsweepKernel<cub::DeviceRadixSortPolicy<int, int, "
     "int>::Policy700, bool=1, bool=0, int, int, int>**>)"},
    {"_ZN3cub16DeviceScanKernelINS_15AgentScanPolicyILi128ELi15EiLNS_18BlockLoadAlgorithmE0ELNS_"
     "17CacheLoadModifierE0ELNS_19BlockStoreAlgorithmE0ELNS_18BlockScanAlgorithmE0ENS_"
     "15MemBoundScalingILi128ELi15EiEEEEPiS9_NS_13ScanTileStateIiLb1EEEN6thrust4plusIvEEiiEEvT0_T1_"
     "T2_iT3_T4_T5_",
     "void cub::DeviceScanKernel<cub::AgentScanPolicy<int=128, int=15, int, "
     "cub::BlockLoadAlgorithm, cub::CacheLoadModifier, cub::BlockStoreAlgorithm, "
     "cub::BlockScanAlgorithm, cub::MemBoundScaling<int=128, int=15, int>>, int*, int*, "
     "cub::ScanTileState<int, bool=1>, thrust::plus<void>, int, int>(int=15, int, "
     "cub::BlockLoadAlgorithm, int, cub::CacheLoadModifier, cub::BlockStoreAlgorithm, "
     "cub::BlockScanAlgorithm)"},
    {"_ZN5Eigen8internal15EigenMetaKernelINS_15TensorEvaluatorIKNS_14TensorAssignOpINS_"
     "9TensorMapINS_6TensorIfLi2ELi1EiEELi16ENS_11MakePointerEEEKNS_19TensorCwiseBinaryOpINS0_"
     "17scalar_product_opIffEEKNS4_INS5_IKfLi2ELi1EiEELi16ES7_EEKNS_20TensorBroadcastingOpIKNS_"
     "5arrayIlLm2EEESF_EEEEEENS_9GpuDeviceEEEiEEvT_T0_",
     "void "
     "Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::"
     "TensorMap<Eigen::Tensor<float, int=2, int=1, int>, int=16, Eigen::MakePointer>, "
     "Eigen::TensorCwiseBinaryOp<Eigen::internal::scalar_product_op<float, float>, "
     "Eigen::TensorMap<Eigen::Tensor<float const , int=2, int=1, int>, int=16, Eigen::MakePointer> "
     "const , Eigen::TensorBroadcastingOp<Eigen::array<long, unsigned long=2> const , "
     "Eigen::TensorMap<Eigen::Tensor<float const , int=2, int=1, int>, int=16, Eigen::MakePointer> "
     "const > const > const > const , Eigen::GpuDevice>, int>(float, int=2)"},
    {"_ZN5Eigen10ScanKernelINS_15TensorEvaluatorIKNS_12TensorScanOpINS_"
     "8internal10SumReducerIfEEKNS_17TensorReshapingOpIKNS_6DSizesIlLi1EEEKNS_9TensorMapINS_"
     "6TensorIKfLi1ELi1ElEELi0ENS_11MakePointerEEEEEEENS_9GpuDeviceEEES5_EEvT_lPNSN_"
     "15CoeffReturnTypeE",
     "void "
     "Eigen::ScanKernel<Eigen::TensorEvaluator<Eigen::TensorScanOp<Eigen::internal::SumReducer<"
     "float>, Eigen::TensorReshapingOp<Eigen::DSizes<long, int=1> const , "
     "Eigen::TensorMap<Eigen::Tensor<float const , int=1, int=1, long>, int=0, Eigen::MakePointer> "
     "const > const > const , Eigen::GpuDevice>, Eigen::internal::SumReducer<float>>(float, long, "
     "Eigen::ScanKernel<Eigen::TensorEvaluator<Eigen::TensorScanOp<Eigen::internal::SumReducer<"
     "float>, Eigen::TensorReshapingOp<Eigen::DSizes<long, int=1> const , "
     "Eigen::TensorMap<Eigen::Tensor<float const , int=1, int=1, long>, int=0, Eigen::MakePointer> "
     "const > const > const , Eigen::GpuDevice::CoeffReturnType>, "
     "Eigen::internal::SumReducer<float>>*)"},
    {"_ZN10xmma_cudnn4gemm6kernelINS_13implicit_gemm13fprop_indexed13Kernel_traitsINS_22Volta_hmma_"
     "fp32_traitsENS_8Cta_tileINS_5VoltaILi0EEELi64ELi128ELi32ELi2ELi2ELi1ELi1EEENS3_13Gmem_tile_a_"
     "tIS5_S9_NS2_13Input_relatedILi0ELi0ELi0ELb0EEELi16ELb0ENS3_16Gmem_tile_base_aIS5_S9_SC_"
     "Li16ENS_3RowELi32ELi64EEEEENS3_13Gmem_tile_c_tIS5_S9_Li16ENS_10Fragment_cIS5_S9_Lb0EEEEESC_"
     "Li1EEEEEvNT_6ParamsE",
     "void "
     "xmma_cudnn::gemm::kernel<xmma_cudnn::implicit_gemm::fprop_indexed::Kernel_traits<xmma_cudnn::"
     "Volta_hmma_fp32_traits, xmma_cudnn::Cta_tile<xmma_cudnn::Volta<int=0>, int=64, int=128, "
     "int=32, int=2, int=2, int=1, int=1>, "
     "xmma_cudnn::implicit_gemm::fprop_indexed::Gmem_tile_a_t<xmma_cudnn::Volta_hmma_fp32_traits, "
     "xmma_cudnn::Cta_tile<xmma_cudnn::Volta<int=0>, int=64, int=128, int=32, int=2, int=2, int=1, "
     "int=1>, xmma_cudnn::implicit_gemm::Input_related<int=0, int=0, int=0, bool=0>, int=16, "
     "bool=0, "
     "xmma_cudnn::implicit_gemm::fprop_indexed::Gmem_tile_base_a<xmma_cudnn::Volta_hmma_fp32_"
     "traits, xmma_cudnn::Cta_tile<xmma_cudnn::Volta<int=0>, int=64, int=128, int=32, int=2, "
     "int=2, int=1, int=1>, xmma_cudnn::implicit_gemm::Input_related<int=0, int=0, int=0, bool=0>, "
     "int=16, xmma_cudnn::Row, int=32, int=64>>, "
     "xmma_cudnn::implicit_gemm::fprop_indexed::Gmem_tile_c_t<xmma_cudnn::Volta_hmma_fp32_traits, "
     "xmma_cudnn::Cta_tile<xmma_cudnn::Volta<int=0>, int=64, int=128, int=32, int=2, int=2, int=1, "
     "int=1>, int=16, xmma_cudnn::Fragment_c<xmma_cudnn::Volta_hmma_fp32_traits, "
     "xmma_cudnn::Cta_tile<xmma_cudnn::Volta<int=0>, int=64, int=128, int=32, int=2, int=2, int=1, "
     "int=1>, bool=0>>, xmma_cudnn::implicit_gemm::Input_related<int=0, int=0, int=0, bool=0>, "
     "int=1>>(xmma_cudnn::Volta_hmma_fp32_traitsParams)"},
    {"_ZN7cutlass6KernelI46cutlass_tensorop_h884fprop_analytic_64x64_32x2EEvNT_6ParamsE",
     "void "
     "cutlass::Kernel<cutlass_tensorop_h884fprop_analytic_64x64_32x2>(cutlass_tensorop_h884fprop_"
     "analytic_64x64_32x2Params)"},
    {"_ZN5cudnn3ops16nchwToNhwcKernelI6__halfS2_fLb0ELb1EL21cudnnKernelDataType_t0EEEvNS0_"
     "18nchw2nhwc_params_tIT1_EEPKT_PT0_",
     "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, bool=0, bool=1, "
     "cudnnKernelDataType_t=0>(cudnn::ops::nchw2nhwc_params_t<float>, __half const *, __half*)"},
    {"_ZN10tensorflow7functor28FillPhiloxRandomKernelLaunchINS_6random19UniformDistributionINS2_"
     "12PhiloxRandomExEEEEvS4_PNT_17ResultElementTypeExS6_",
     "void "
     "tensorflow::functor::FillPhiloxRandomKernelLaunch<tensorflow::random::UniformDistribution<"
     "tensorflow::random::PhiloxRandom, __int64>>(tensorflow::random::PhiloxRandom, "
     "tensorflow::random::PhiloxRandomResultElementType*, __int64, "
     "tensorflow::functor::FillPhiloxRandomKernelLaunch<tensorflow::random::UniformDistribution<"
     "tensorflow::random::PhiloxRandom, __int64>>)"},
    {"_ZN2at6native13im2col_kernelIfEEvlPKT_llllllllllllPS2_",
     "void at::native::im2col_kernel<float>(long, float const *, long, long, long, long, long, "
     "long, long, long, long, long, long, long, at::native::im2col_kernel<float>*)"},
    {"_ZN6paddle9operators32CommonForwardBroadcastCUDAKernelINS0_10AddFunctorINS_"
     "8platform7float16EvEES4_S4_EEvPKiS7_S7_PKT0_SA_PT1_iiT_b",
     "void "
     "paddle::operators::CommonForwardBroadcastCUDAKernel<paddle::operators::AddFunctor<paddle::"
     "platform::float16, void>, paddle::platform::float16, paddle::platform::float16>(int const *, "
     "int const , int const , void const *, void const , "
     "paddle::operators::AddFunctor<paddle::platform::float16, void>*, int, int, "
     "paddle::platform::float16, bool)"},
    {"_ZN2at6native27unrolled_elementwise_kernelINS0_10AddFunctorIfEENS_"
     "6detail5ArrayIPcLi3EEE16OffsetCalculatorILi2EjES8_ILi1EjENS0_6memory15LoadWithoutCastENSB_"
     "16StoreWithoutCastEEEviT_T0_T1_T2_T3_T4_",
     "void at::native::unrolled_elementwise_kernel<at::native::AddFunctor<float>, "
     "at::detail::Array<char*, int=3>, OffsetCalculator<int=2, unsigned int>, "
     "OffsetCalculator<int=1, unsigned int>, at::native::memory::LoadWithoutCast, "
     "at::native::memory::StoreWithoutCast>(int, float, at::native::AddFunctor<float>, char*, "
     "int=3, at::detail::Array<char*, int=3>, int=2)"},
    {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIxNS0_14func_wrapper_tIxNS0_"
     "13MaxNanFunctorIxEEEEjxLi4EEEEEvT1_",
     "void at::native::reduce_kernel<int=512, int=1, at::native::ReduceOp<__int64, "
     "at::native::func_wrapper_t<__int64, at::native::MaxNanFunctor<__int64>>, unsigned int, "
     "__int64, int=4>>(__int64)"},
    {"_ZN2at6native76_GLOBAL__N__52_tmpxft_0000230c_00000000_11_Shape_compute_75_cpp1_ii_"
     "cedd8df219CatArrayBatchedCopyIfjLi4EEEvPT_NS1_25CatArrInputTensorMetadataIS3_T0_Li128EEENS1_"
     "22OutputTensorSizeStrideIS6_Lj4EEEiS6_",
     "void "
     "at::native::_GLOBAL__N__52_tmpxft_0000230c_00000000_11_Shape_compute_75_cpp1_ii_cedd8df2::"
     "CatArrayBatchedCopy<float, unsigned int, int=4>(float*, "
     "at::native::_GLOBAL__N__52_tmpxft_0000230c_00000000_11_Shape_compute_75_cpp1_ii_cedd8df2::"
     "CatArrInputTensorMetadata<at::native::_GLOBAL__N__52_tmpxft_0000230c_00000000_11_Shape_"
     "compute_75_cpp1_ii_cedd8df2::CatArrayBatchedCopy<float, unsigned int, int=4>, unsigned int, "
     "int=128>, "
     "at::native::_GLOBAL__N__52_tmpxft_0000230c_00000000_11_Shape_compute_75_cpp1_ii_cedd8df2::"
     "OutputTensorSizeStride<at::native::_GLOBAL__N__52_tmpxft_0000230c_00000000_11_Shape_compute_"
     "75_cpp1_ii_cedd8df2::CatArrInputTensorMetadata, unsigned int=4>, int, "
     "at::native::_GLOBAL__N__52_tmpxft_0000230c_00000000_11_Shape_compute_75_cpp1_ii_cedd8df2::"
     "CatArrInputTensorMetadata)"},
    {"_ZN2at6native78_GLOBAL__N__54_tmpxft_0000308e_00000000_10_Dropout_compute_75_cpp1_ii_"
     "6a946dbb24fused_dropout_kernel_vecIffjLi1ELi4EEEvNS_4cuda6detail10TensorInfoIT_T1_EES8_NS5_"
     "IhS7_EES7_T0_St4pairImmE",
     "void "
     "at::native::_GLOBAL__N__54_tmpxft_0000308e_00000000_10_Dropout_compute_75_cpp1_ii_6a946dbb::"
     "fused_dropout_kernel_vec<float, float, unsigned int, int=1, "
     "int=4>(at::cuda::detail::TensorInfo<float, unsigned int>, unsigned int, "
     "at::cuda::detail<unsigned char, float>, float, float, std::pair<unsigned long, unsigned "
     "long>)"},
    {"_Z21kernelPointwiseApply2I21ThresholdUpdateOutputIN2at4HalfEES2_S2_"
     "jLi1ELi1EEv10OffsetInfoIT0_T2_XT3_EES4_IT1_S6_XT4_EES6_T_",
     "void kernelPointwiseApply2<ThresholdUpdateOutput<at::Half>, at::Half, at::Half, unsigned "
     "int, int=1, int=1>(OffsetInfo<ThresholdUpdateOutput<at::Half>, at::Half, unsigned int>, "
     "OffsetInfo<at::Half, at::Half, int=1>, at::Half, at::Half)"},
    {"_Z13gen_sequencedI17curandStateXORWOWfiXadL_Z21curand_uniform_noargsIS0_EfPT_iEE10rng_"
     "configIS0_L14curandOrdering101EEEvPS2_PT0_mmT1_",
     "void gen_sequenced<curandStateXORWOW, float, int, __operator_&__(float "
     "curand_uniform_noargs<curandStateXORWOW>(curandStateXORWOW*, int)), "
     "rng_config<curandStateXORWOW, curandOrdering=101>>(curandStateXORWOW*, float*, unsigned "
     "long, unsigned long, int)"},
    {"_Z20generate_seed_pseudoI10rng_configI17curandStateXORWOWL14curandOrdering101EEEvyyyS2_PT_Pj",
     "void generate_seed_pseudo<rng_config<curandStateXORWOW, curandOrdering=101>>(__int64, "
     "__int64, __int64, curandOrdering, curandStateXORWOW*, unsigned int*)"},
    {"_ZN10tensorflow7functor24PadInputCustomKernelNCHWIfLi4EEEviPKT_NS0_9DimensionIXT0_EEEPS2_S6_"
     "NS5_IXmiT0_Li2EEEE",
     "void tensorflow::functor::PadInputCustomKernelNCHW<float, int=4>(int, float const *, "
     "tensorflow::functor::Dimension<int=4>, tensorflow::functor::PadInputCustomKernelNCHW<float, "
     "int=4>*, tensorflow::functor::Dimension, float const *)"},
    {"_ZN6thrust16transform_kernelIf10lbpFunctorEEvPNS_15window_iteratorIT_NS_23device_malloc_"
     "allocatorIS3_EEEES7_NS_15launcher_configET0_",
     "void thrust::transform_kernel<float, lbpFunctor>(thrust::window_iterator<float, "
     "thrust::device_malloc_allocator<thrust::window_iterator>>*, thrust::window_iterator<float, "
     "thrust::device_malloc_allocator<thrust::window_iterator>>, thrust::launcher_config, "
     "lbpFunctor)"},
    {"_ZN6Kokkos4Impl33cuda_parallel_launch_local_memoryINS0_11ParallelForINS0_"
     "16ViewValueFunctorINS_4CudaEdLb1EEENS_11RangePolicyIJS4_NS_9IndexTypeImEEEEES4_EEEEvT_",
     "void "
     "Kokkos::Impl::cuda_parallel_launch_local_memory<Kokkos::Impl::ParallelFor<Kokkos::Impl::"
     "ViewValueFunctor<Kokkos::Cuda, double, bool=1>, Kokkos::RangePolicy<>, "
     "Kokkos::Cuda>>(Kokkos::Cuda)"},
    {"_Z17gemv2T_kernel_"
     "valIiidddLi128ELi16ELi2ELi2ELb0E16cublasGemvParamsI16cublasGemvTensorIKdES1_IdEdEEvT9_T3_S7_",
     "void gemv2T_kernel_val<int, int, double, double, double, int=128, int=16, int=2, int=2, "
     "bool=0, cublasGemvParams<cublasGemvTensor<double const >, cublasGemvTensor<double>, "
     "double>>(double const , double, double)"},
    {"_Z11spmm_kernelIfL13ReductionType0ELb1EEvPKxS2_PKT_S5_PS3_Pxiiii",
     "void spmm_kernel<float, ReductionType=0, bool=1>(__int64 const *, __int64 const *, float "
     "const *, float const *, float*, __int64*, int, int, int, int)"},
    {"_Z37ncclKernel_AllReduce_RING_LL_Sum_halfP11ncclDevCommmP8ncclWork",
     "ncclKernel_AllReduce_RING_LL_Sum_half(ncclDevComm*, unsigned long, ncclWork*)"},
    {"_ZN6thrust8cuda_cub4core13_kernel_agentINS0_12__merge_sort10MergeAgentINS_12zip_iteratorINS_"
     "5tupleINS_10device_ptrIxEES8_NS_9null_typeES9_S9_S9_S9_S9_S9_S9_EEEEPNS6_IxxS9_S9_S9_S9_S9_"
     "S9_S9_S9_EEx15ThrustSliceLTOpIxiLb1EENS_6detail17integral_constantIbLb0EEEEEbSB_SD_xSD_SD_SF_"
     "PxxEEvT0_T1_T2_T3_T4_T5_T6_T7_T8_",
     "void "
     "thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__merge_sort::MergeAgent<thrust::zip_"
     "iterator<thrust::tuple<thrust::device_ptr<__int64>, thrust::device_ptr<__int64>, "
     "thrust::null_type, thrust::null_type, thrust::null_type, thrust::null_type, "
     "thrust::null_type, thrust::null_type, thrust::null_type, thrust::null_type>>, "
     "thrust::tuple<__int64, __int64, thrust::null_type, thrust::null_type, thrust::null_type, "
     "thrust::null_type, thrust::null_type, thrust::null_type, thrust::null_type, "
     "thrust::null_type>*, __int64, ThrustSliceLTOp<__int64, int, bool=1>, "
     "thrust::detail::integral_constant<bool, bool=0>>, bool, "
     "thrust::zip_iterator<thrust::tuple<thrust::device_ptr<__int64>, thrust::device_ptr<__int64>, "
     "thrust::null_type, thrust::null_type, thrust::null_type, thrust::null_type, "
     "thrust::null_type, thrust::null_type, thrust::null_type, thrust::null_type>>, "
     "thrust::tuple<__int64, __int64, thrust::null_type, thrust::null_type, thrust::null_type, "
     "thrust::null_type, thrust::null_type, thrust::null_type, thrust::null_type, "
     "thrust::null_type>*, __int64, thrust::tuple<__int64, __int64, thrust::null_type, "
     "thrust::null_type, thrust::null_type, thrust::null_type, thrust::null_type, "
     "thrust::null_type, thrust::null_type, thrust::null_type>*, thrust::tuple<__int64, __int64, "
     "thrust::null_type, thrust::null_type, thrust::null_type, thrust::null_type, "
     "thrust::null_type, thrust::null_type, thrust::null_type, thrust::null_type>*, "
     "ThrustSliceLTOp<__int64, int, bool=1>, __int64*, __int64>(thrust::device_ptr<__int64>, "
     "thrust::device_ptr<__int64>, thrust::null_type, thrust::null_type, thrust::null_type, "
     "thrust::null_type, thrust::null_type, thrust::null_type, thrust::null_type)"},
    {"_ZN3cub23DeviceSelectSweepKernelINS_16DispatchSelectIfINS_21CountingInputIteratorIxxEENS_"
     "22TransformInputIteratorIbN2at6native9NonZeroOpIbEEPbxEEPxPiNS_8NullTypeESD_"
     "iLb0EE18PtxSelectIfPolicyTES3_SA_SB_SC_NS_13ScanTileStateIiLb1EEESD_SD_iLb0EEEvT0_T1_T2_T3_"
     "T4_T5_T6_T7_i",
     "void cub::DeviceSelectSweepKernel<cub::DispatchSelectIf<cub::CountingInputIterator<__int64, "
     "__int64>, cub::TransformInputIterator<bool, at::native::NonZeroOp<bool>, bool*, __int64>, "
     "__int64*, int*, cub::NullType, cub::NullType, int, bool=0>::PtxSelectIfPolicyT, "
     "cub::CountingInputIterator<__int64, __int64>, cub::TransformInputIterator<bool, "
     "at::native::NonZeroOp<bool>, bool*, __int64>, __int64*, int*, cub::ScanTileState<int, "
     "bool=1>, cub::NullType, cub::NullType, int, bool=0>(__int64, "
     "cub::CountingInputIterator<__int64, __int64>, bool, bool, at::native::NonZeroOp<bool>, "
     "bool*, __int64, cub::TransformInputIterator<bool, at::native::NonZeroOp<bool>, bool*, "
     "__int64>, int)"},
};

const std::vector<std::string> left_mangled = {
    "_Z",
    "_Z10lambdatestIZ4mainEUliE_EvT_",
    "_Z1fDi",
    "_Z1fDn",
    "_Z1fIJifdEEvDpT_",
    "_Z1fILf3f800000EEvv",
    "_Z1fIXT_EEvv",
    "_Z1fPDs",
    "_Z3addIdEDTplfp_fp0_ET_S1_",
    "_Z3fooB5cxx11v",
    "_Z3fooDh",
    "_Z3foovbroken",
    "_ZBAD",
    "_ZN1AD0Ev",
    "_ZN1xUt_3fooEv",
    {"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpu_kernel_impl_nocastINS0_"
     "13BinaryFunctorIfffNS0_15binary_internal10MulFunctorIfEEEEEEvRNS_18TensorIteratorBaseERKT_"
     "EUliE_EEviT1_"},
    "_ZN7cutlass7Kernel2I55cutlass_80_tensorop_f16_s16816gemm_f16_256x128_32x3_tnEEvNT_6ParamsE",
    "_ZNK2ns3Cls6constmEv",
    "_ZZ4mainENKUlvE_clEv",
    "__nv_static_49__41_tmpxft_x_cpp1_ii_main__Z3foov",
    "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn",
    "main_42_gpu",
    "plain_c_kernel",
    "void_already_demangled<int>(int*)",
    "volta_sgemm_128x64_nn",
    {"_ZN6thrust23THRUST_200802_SM_610_NS8cuda_cub4core13_kernel_agentINS1_8__"
     "reduce10DrainAgentIiEEJN3cub17CUB_200802_SM_6109GridQueueIjEEiEEEvDpT0_"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_21threshold_kernel_implIfEEvRNS_"
     "14TensorIteratorET_S5_EUlffE_NS_6detail5ArrayIPcLi3EEEEEviT0_T1_"},
    {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_11sum_"
     "functorIfffEclERNS_14TensorIteratorEEUlffE_EEjfLi4EEEEEvT1_"},
    {"_Z13kernel_assignIN6thrust7complexIdEEZN9Prefactor13multiply_withE9ArrayViewIS2_"
     "Li3EN5Space6DeviceEES7_EUliiiE_EvS4_IT_Li3ES6_ET0_"},
    {"_ZN5mxnet2op8mxnet_op20mxnet_generic_kernelINS0_9SGDKernelEJPfS4_S4_ffffNS_"
     "9OpReqTypeEEEEviDpT0_"},
    "_ZN4RAJA4expt17launch_global_fcnIZ4mainEUlNS0_13LaunchContextEE_EEvS2_T_",
};

// Every prefix of a name, and every name with one byte less.
std::vector<std::string> damaged(const std::string& name) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < name.size(); ++at) {
    all.push_back(name.substr(0, at));
    all.push_back(name.substr(0, at) + name.substr(at + 1));
  }
  return all;
}

std::string repeated(const std::string& part, int times) {
  std::string text;
  while (times-- > 0) text += part;
  return text;
}

}  // namespace

TEST_CASE("names come out as nvprof printed them") {
  for (const auto& [mangled, printed] : seen) CHECK(nvprof_demangled(mangled) == printed);
  for (const auto& [mangled, printed] : published) CHECK(nvprof_demangled(mangled) == printed);
}

TEST_CASE("what nvprof leaves mangled stays") {
  for (const std::string& name : left_mangled) CHECK(nvprof_demangled(name) == name);
}

TEST_CASE("nvprof crashed on a vendor qualifier, here is the modern name") {
  CHECK(nvprof_demangled("_Z3fooU3AS1Pi") == gpuprof::demangled("_Z3fooU3AS1Pi"));
  CHECK(nvprof_demangled("_Z3fooU3AS1Pi").starts_with("foo(int*"));
}

TEST_CASE("declarators, literals, expressions and local names") {
  CHECK(nvprof_demangled("_Z1fPPFivE") == "f(int (**) (void))");
  CHECK(nvprof_demangled("_Z1fRFivE") == "f(int (&) (void))");
  CHECK(nvprof_demangled("_Z1fPA16_f") == "f(float[16]*)");
  CHECK(nvprof_demangled("_Z1fPKPKf") == "f(float const * const *)");
  CHECK(nvprof_demangled("_Z1fIFivEEvT_") == "void f<int (void)>(int (void))");
  CHECK(nvprof_demangled("_Z1fILPFivE0EEvv") == "void f<int (*) (void)=0>(void)");
  CHECK(nvprof_demangled("_Z1fIXmiLi5ELi2EEEvv") == "void f<__operator_-__(int=5, int=2)>(void)");
  CHECK(nvprof_demangled("_Z1fIXntLb0EEEvv") == "void f<__operator_!__(bool=0)>(void)");
  CHECK(nvprof_demangled("_Z1fIZ4mainE1SEvT_") == "void f<main::S>(main::S)");
  CHECK(nvprof_demangled("_Z1fILN2ns1EE3ELS1_4EEvS1_") == "void f<ns::E, ns::E>(ns::E)");
  CHECK(nvprof_demangled("_Z1fIL1E3ELS0_4EEvS0_") == "void f<E=3, E=4>(E)");
  CHECK(nvprof_demangled("_Z1fP3FooIJEE") == "f(Foo<>*)");
  CHECK(nvprof_demangled("_Z1f3FooIiJfdEE") == "f(Foo<int>)");
  CHECK(nvprof_demangled("_ZlsRSoRK3Foo") ==
        "__operator_<<__(std::basic_ostream<char, std::char_traits<char>>&, Foo const &)");
  CHECK(nvprof_demangled("_ZN3FooIiEcvfEv") == "Foo<int>::operator (cast)(void)");
}

TEST_CASE("substitutions beyond one digit") {
  std::string mangled = "_Z1f";
  std::string printed = "f(";
  for (int number = 0; number < 40; ++number) {
    const std::string name = "T" + std::to_string(100 + number);
    mangled += "4" + name;
    printed += name + ", ";
  }
  // S_ is the first, S0_ the second, S10_ the 38th.
  CHECK(nvprof_demangled(mangled + "S_S0_SZ_S10_") == printed + "T100, T101, T136, T137)");
  CHECK(nvprof_demangled(mangled + "S13_") == mangled + "S13_");
}

TEST_CASE("a damaged name ends, and text stays bounded") {
  constexpr std::size_t most = 5u << 20u;
  for (const auto* pairs : {&seen, &published}) {
    for (const Pair& pair : *pairs) {
      for (const std::string& name : damaged(pair.mangled)) {
        const std::string text = nvprof_demangled(name);
        REQUIRE(text.size() <= most);
        if (!name.starts_with("_Z")) REQUIRE(text == name);
      }
    }
  }
}

TEST_CASE("hostile names come back as they are") {
  constexpr int many = 100'000;
  for (const std::string& name :
       {"_Z1f" + repeated("P", many) + "i", "_Z1f" + repeated("1aI", many),
        "_Z1fI" + repeated("X", many), "_ZN" + repeated("1aIi", many), repeated("_Z", many),
        "_Z" + repeated("Z", many), "_Z1f" + repeated("A1_", many) + "i",
        "_Z1f" + repeated("F", many), "_Z1fILi" + repeated("9", many), "_Z1fS" + repeated("Z", 50),
        "_Z" + repeated("9", 50) + "f", "_Z1fT" + repeated("9", 50) + "_",
        "_Z1f1aIiES_" + repeated("I", many), std::string("_Z1f\0i", 6), std::string("_Z\xff\xfe"),
        std::string("_Z1fv\xff")}) {
    CHECK(nvprof_demangled(name) == name);
  }
  CHECK(nvprof_demangled("").empty());

  // Each argument doubles the one before.
  std::string doubling = "_Z1fv1aIiiE";
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (const char digit : digits) {
    const std::string last = std::string("S") + digit + "_";
    doubling += "S_I" + last + last + "E";
  }
  CHECK(nvprof_demangled(doubling) == doubling);
}
