"""gpuprof cluster: the profiles of many ranks as one store of Parquet files, and what it says about them.

In the order in which it happens: sources.py (which files), part.py (one file becomes Parquet; tasks.py
runs it for each file), store.py (the files of a store), matching.py (collectives), clocks.py (one clock),
stragglers.py (who is late, and why), report.py (all of it), page.py (as HTML). command.py is the
command line, and api.py what gpuprof_cuda.cluster() returns."""
