# shellcheck shell=bash
# Files beside nginx with sendfile, from one directory each: small ones by a signed address and by the access of a token, large
# ones, and uploads beside nginx's WebDAV. Thumbnails of a photo, made and kept. Fetches of records with a file beside fetches of
# the same without one.

files_heading() { echo 'Files'; }

# start_nginx: serves $WORK/nginx, also to PUT; sets NGINX and NGINX_PORT.
start_nginx() {
    local nginx
    nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || die "nginx is missing: run scripts/setup test."
    NGINX_PORT=$((PORT + 50))
    mkdir -p "$WORK/nginx/temporary"
    cat >"$WORK/nginx.conf" <<EOT
daemon off;
master_process off;
pid $WORK/nginx.pid;
error_log $WORK/nginx.log;
events { worker_connections 1024; }
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 100000000;
    client_body_temp_path $WORK/nginx/temporary;
    client_max_body_size 1g;
    server {
        listen 127.0.0.1:$NGINX_PORT;
        root $WORK/nginx;
        dav_methods PUT;
    }
}
EOT
    "$nginx" -c "$WORK/nginx.conf" -e "$WORK/nginx.log" >>"$WORK/nginx.log" 2>&1 &
    NGINX=$!
    until (exec 3<>"/dev/tcp/127.0.0.1/$NGINX_PORT") 2>/dev/null; do
        kill -0 "$NGINX" 2>/dev/null || die "nginx ended: $(tail -n 5 "$WORK/nginx.log")"
    done
}

stop_nginx() {
    kill -TERM "$NGINX" 2>/dev/null || true
    wait "$NGINX" 2>/dev/null || true
}

# upload FILE: prints the response to an upload of the user.
upload() {
    local response
    response=$(curl --silent --show-error --max-time 60 "http://127.0.0.1:$PORT/files?filename=$(basename "$1")" \
        --header "X-Skygear-API-Key: $API_KEY" --header "Authorization: Bearer $TOKEN" \
        --header 'Content-Type: application/octet-stream' --data-binary "@$1")
    [[ $response == *'"$name"'* ]] || die "The upload was refused: $response"
    printf '%s\n' "$response"
}

# measure_url SERIES URL FILE [HEADER...]: records SERIES.rate, in responses a second, after a look at one of them.
measure_url() {
    local series=$1 url=$2 file=$3 header headers=() output
    shift 3
    for header in "$@"; do headers+=(--header "$header"); done
    curl --silent --show-error --max-time 60 --output "$WORK/received" "${headers[@]}" "$url"
    cmp --silent "$WORK/received" "$file" || die "$url has other bytes than $file."
    output=$(wrk --threads 2 --connections "$CONNECTIONS" --duration "${DURATION}s" --timeout 30s "${headers[@]}" "$url" 2>&1) \
        || die "wrk failed: $output"
    [[ $output != *'Non-2xx'* && $output != *'Socket errors'* ]] || die "Responses of $url were wrong: $output"
    record "$series.rate" "$(sed -n 's/^Requests\/sec: *\([0-9.]*\).*/\1/p' <<<"$output")"
}

# measure_upload SERIES ARGUMENT...: records SERIES.rate, in bytes a second, of a curl with these arguments.
measure_upload() {
    local series=$1 speed
    shift
    speed=$(curl --silent --show-error --fail --max-time 120 --output "$WORK/received" --write-out '%{speed_upload}' "$@") \
        || die "The upload failed: $(head -c 500 "$WORK/received")"
    record "$series.rate" "$speed"
}

# fill_shown NAME: records of the type `shown`, which are those of `item` with a file.
fill_shown() {
    local fields='[{"name":"title","type":"string"},{"name":"grp","type":"integer"},{"name":"score","type":"number"},{"name":"done","type":"boolean"},{"name":"due","type":"datetime"},{"name":"file","type":"asset"}]'
    call "$MASTER_KEY" schema:create "{\"record_types\":{\"shown\":{\"fields\":$fields}}}" >/dev/null
    fill shown "$ROWS"
    sql <<SQL
UPDATE app.shown SET file = '$1';
VACUUM (FULL, ANALYZE) app.shown;
SQL
}

# make_photo FILE: a JPEG image of 12 megapixels and about 8 MB, with noise as a photo has it.
make_photo() {
    command -v vips >/dev/null && command -v vipsthumbnail >/dev/null || die "vips is missing: run scripts/setup benchmark."
    vips gaussnoise "$WORK/noise.v" 4032 3024 --mean 128 --sigma 40 --seed 1
    vips bandjoin "$WORK/noise.v $WORK/noise.v $WORK/noise.v" "$WORK/colours.v"
    vips cast "$WORK/colours.v" "$WORK/photo.v" uchar
    vips jpegsave "$WORK/photo.v" "$1" --Q 90
    rm -f "$WORK/noise.v" "$WORK/colours.v" "$WORK/photo.v"
}

# measure_thumbnail SERIES NAME HEADER...: records SERIES.seconds, the time of a response with a thumbnail of the file.
measure_thumbnail() {
    local series=$1 name=$2 header headers=() output
    shift 2
    for header in "$@"; do headers+=(--header "$header"); done
    output=$(curl --silent --show-error --fail --max-time 60 --output "$WORK/received" \
        --write-out '%{content_type} %{time_total}' "${headers[@]}" \
        "http://127.0.0.1:$PORT/files/$name?thumb=400x400f") || die "The thumbnail was refused."
    [[ $output == 'image/jpeg '* ]] || die "The thumbnail is $output."
    record "$series.seconds" "${output#* }"
}

files_measure() {
    local round side small large signed response photo count
    local keys=()
    mkdir -p "$WORK/nginx"
    head -c 16384 /dev/urandom >"$WORK/nginx/small.bin"
    head -c 10000000 /dev/urandom >"$WORK/nginx/large.bin"
    head -c 100000000 /dev/urandom >"$WORK/huge.bin"
    make_photo "$WORK/photo.jpg"
    add_side files "$MEASURED" bench
    start_side --file-directory "$WORK/files" --maximum-file 200000000 --file-quota 0 --maximum-body-memory 268435456
    start_nginx
    keys=("X-Skygear-API-Key: $API_KEY" "Authorization: Bearer $TOKEN")
    response=$(upload "$WORK/nginx/small.bin")
    small=$(member '\$name' <<<"$response")
    signed=$(member '\$url' <<<"$response")
    large=$(upload "$WORK/nginx/large.bin" | member '\$name')
    call "$MASTER_KEY" record:save "{\"records\":[{\"_id\":\"picture/1\",\"file\":{\"\$type\":\"asset\",\"\$name\":\"$small\"}},
        {\"_id\":\"picture/2\",\"file\":{\"\$type\":\"asset\",\"\$name\":\"$large\"}}]}" >"$WORK/saved.json"
    fill_shown "$small"
    for ((round = 1; round <= ROUNDS; round++)); do
        note "Files, round $round of $ROUNDS"
        for side in $(in_turns "$round" nginx files); do
            if [[ $side == nginx ]]; then
                measure_url small.nginx "http://127.0.0.1:$NGINX_PORT/small.bin" "$WORK/nginx/small.bin"
                measure_url large.nginx "http://127.0.0.1:$NGINX_PORT/large.bin" "$WORK/nginx/large.bin"
                measure_upload upload.nginx --upload-file "$WORK/huge.bin" "http://127.0.0.1:$NGINX_PORT/huge.$round.bin"
                rm -f "$WORK/nginx/huge.$round.bin"
            else
                measure_url small.signed "$signed" "$WORK/nginx/small.bin"
                measure_url small.judged "http://127.0.0.1:$PORT/files/$small" "$WORK/nginx/small.bin" "${keys[@]}"
                measure_url large.judged "http://127.0.0.1:$PORT/files/$large" "$WORK/nginx/large.bin" "${keys[@]}"
                measure_upload upload.files --header "${keys[0]}" --header "${keys[1]}" \
                    --header 'Content-Type: application/octet-stream' --data-binary "@$WORK/huge.bin" \
                    "http://127.0.0.1:$PORT/files?filename=huge.bin"
            fi
        done
        for ((count = 0; count < 10; count++)); do
            photo=$(upload "$WORK/photo.jpg" | member '\$name')
            measure_thumbnail thumbnail.first "$photo" "${keys[@]}"
            measure_thumbnail thumbnail.kept "$photo" "${keys[@]}"
        done
        for side in $(in_turns "$round" item shown); do measure_wrk fetch "fetch.$side" "$side" "$ROWS"; done
    done
    stop_nginx
    stop_side
    use plain
}

# files_row NAME SERIES OTHER UNIT DIVISOR WITH: a row of the table.
files_row() {
    ratios "$2.rate" "$3.rate" "$2.ratio"
    printf '| %s | %s %s | %s | %s %s | %s (%s) |\n' "$1" \
        "$(divide "$(median "$2.rate" %.0f)" "$5" | cut -d . -f 1)" "$4" "$6" \
        "$(divide "$(median "$3.rate" %.0f)" "$5" | cut -d . -f 1)" "$4" \
        "$(median "$2.ratio" %.2f)" "$(spread "$2.ratio" %.2f)"
}

files_report() {
    cat <<'EOT'
| Work | service | beside | which has | ratio (spread) |
|---|---|---|---|---|
EOT
    files_row 'download of 16 KB by a signed address' small.signed small.nginx /s 1 'nginx, the same file'
    files_row 'download of 16 KB, access judged by token' small.judged fetch.item /s 1 '`record:fetch`'
    files_row 'download of 10 MB, access judged by token' large.judged large.nginx /s 1 'nginx, the same file'
    files_row 'upload of 100 MB, with SHA-256 and fsync' upload.files upload.nginx MB/s 1000000 'nginx, WebDAV without fsync'
    files_row 'fetch of a record with a file' fetch.shown fetch.item /s 1 'of the same without one'
    printf '\nA thumbnail of 400 pixels of a JPEG image of 12 megapixels and 8 MB, median: made in %s ms (at most 500), kept %s ms (at most 2).\n' \
        "$(divide "$(median thumbnail.first.seconds %.6f)" 0.001 | cut -d . -f 1)" \
        "$(divide "$(median thumbnail.kept.seconds %.6f)" 0.001 | cut -c 1-4)"
}
