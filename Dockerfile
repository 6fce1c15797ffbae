# Everything needed to build and test gpuprof:
#
#   docker build -t gpuprof .
#   docker run --rm -it --gpus all gpuprof build/bin/gpuprof --version
FROM debian:12
WORKDIR /gpuprof
COPY . .
RUN scripts/setup && scripts/build --no-tests
CMD ["build/bin/gpuprof", "--help"]
