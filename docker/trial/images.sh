# The stand-ins of the public images, and the image of the service; a part of docker/try.

step "Base systems, made with debootstrap"
if ! has_image docker.io/library/debian:bookworm-slim; then
    rm -rf "$work/base"
    debootstrap --variant=minbase bookworm "$work/base" "$mirror" >"$work/debootstrap.log" 2>&1 ||
        { tail "$work/debootstrap.log" >&2; fail "debootstrap failed"; }
    # What the public slim image leaves out too.
    printf 'path-exclude /usr/share/%s/*\n' doc info locale man >"$work/base/etc/dpkg/dpkg.cfg.d/slim"
    rm -rf "$work/base"/usr/share/{doc,info,locale,man}/* "$work/base"/var/lib/apt/lists/* \
        "$work/base"/var/cache/apt/* "$work/base"/var/log/*.log
    tar --directory "$work/base" --create . |
        podman import --change CMD=bash - docker.io/library/debian:bookworm-slim >/dev/null 2>&1
    rm -rf "$work/base"
fi
if ! has_image "$DATABASE_IMAGE"; then
    build --tag "$DATABASE_IMAGE" --file - $here/trial <<'END'
FROM docker.io/library/debian:bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends postgresql-common \
    && sed -i 's/^#* *create_main_cluster *=.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf \
    && apt-get install --yes --no-install-recommends postgresql-15 postgresql-15-postgis-3
COPY database-entrypoint /usr/local/bin/
ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PGDATA=/var/lib/postgresql/data
STOPSIGNAL SIGINT
EXPOSE 5432
ENTRYPOINT ["database-entrypoint"]
END
fi
if ! has_image "$PROXY_IMAGE"; then
    build --tag "$PROXY_IMAGE" --file - $here/trial <<'END'
FROM docker.io/library/debian:bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends haproxy
USER haproxy
STOPSIGNAL SIGUSR1
ENTRYPOINT ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]
END
fi
if [ -z "$binary" ] && ! has_image docker.io/library/swift:6.3-bookworm; then
    build --tag docker.io/library/swift:6.3-bookworm --file - $here/trial <<'END'
FROM docker.io/library/debian:bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends \
    binutils ca-certificates git gnupg2 libc6-dev libcurl4-openssl-dev libedit2 libgcc-12-dev libpython3-dev \
    libsqlite3-0 libstdc++-12-dev libxml2-dev libncurses-dev libz3-dev tzdata zlib1g-dev
# The toolchain is mounted when something is built; git finds packages where the trial has them.
RUN git config --system 'url./packages/.insteadOf' 'https://github.com/' && git config --system safe.directory '*'
ENV PATH=/toolchain/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
END
fi

step "The image, from docker/Dockerfile"
if [ -n "$binary" ]; then
    # The stage that builds is replaced by an image that has its result; all else is the Dockerfile's.
    scripts/package --binary "$binary" --output "$work/package"
    mkdir -p "$work/context"
    dpkg-deb --extract "$work/package"/skyrow_*.deb "$work/context"
    printf 'FROM scratch\nCOPY . /built\n' | build --tag localhost/skyrow-built --file - "$work/context"
    sed '/^FROM .* AS build$/,/^FROM .* AS run$/{/AS run$/!d}; s/--from=build/--from=localhost\/skyrow-built/' \
        $here/Dockerfile >"$work/Dockerfile"
    build --tag $SERVICE_IMAGE --file "$work/Dockerfile" .
else
    volumes=(--volume "$SWIFT_TOOLCHAIN:/toolchain:ro")
    [ -z "${SWIFT_PACKAGES:-}" ] || volumes+=(--volume "$SWIFT_PACKAGES:/packages:ro")
    SECONDS=0
    build --tag $SERVICE_IMAGE --file $here/Dockerfile "${volumes[@]}" .
    echo "built in $SECONDS s"
fi
podman image inspect --format 'size: {{.Size}} bytes' $SERVICE_IMAGE
podman image inspect --format 'user: {{.User}}  health check: {{.HealthCheck.Test}}' $SERVICE_IMAGE
podman run --rm $SERVICE_IMAGE --version
