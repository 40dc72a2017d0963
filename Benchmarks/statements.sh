# shellcheck shell=bash
# What the service sends to PostgreSQL, beside what pgbench runs.

# The same request as calls.lua makes, once, so that its statement can be read from PostgreSQL's log.
sample() {
    local record='{"_id":"entry/'$RANDOM$RANDOM'","title":"x","grp":1,"score":0.5,"done":false,"due":{"$type":"date","$date":"2026-03-01T09:00:00Z"}}'
    case $1 in
        fetch) call "$API_KEY" record:fetch '{"ids":["item/100000000001"]}' ;;
        query) call "$API_KEY" record:query '{"record_type":"item","predicate":["eq",{"$type":"keypath","$val":"grp"},1],"sort":[[{"$type":"keypath","$val":"title"},"asc"]],"limit":20}' ;;
        save) call "$API_KEY" record:save "{\"records\":[$record]}" ;;
        batch) call "$API_KEY" record:save "{\"records\":[$record,${record/entry\//entry\/2}]}" ;;
    esac
}

# Statement text with every parameter and variable as `?` and without their casts, which pgbench needs because it sends
# values without types; so the two spellings can be compared.
bare_statement() {
    sed -e '/^ *--/d' -e '/^\\/d' | tr '\n\t' '  ' \
        | sed -E -e 's/(^|[^:]):[a-z_]+/\1?/g' -e 's/\$[0-9]+/?/g' -e 's/\?(::[a-z0-9]+(\[\])?)+/?/g' -e 's/;? *$//' -e 's/ +/ /g' -e 's/^ //'
}

# pgbench must run what the service sends, or the comparison means nothing.
check_statements() {
    # Not what the service asks of the catalog meanwhile.
    local work sent ours wrong='' STATEMENT_MARK='"app"\."'
    for work in $WORKS; do
        if grep --quiet '^-- differs' "$HERE/pgbench/$work.sql"; then continue; fi
        sent=$(statement_during sample "$work" | bare_statement)
        ours=$(bare_statement <"$HERE/pgbench/$work.sql")
        if [[ $sent != "$ours" ]]; then
            wrong+="pgbench/$work.sql is not what the service sends:
  sent  $sent
  ours  $ours
"
        fi
    done
    [[ -z $wrong ]] || die "$wrong"
}
