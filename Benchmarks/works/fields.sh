# shellcheck shell=bash
# The same query of 20 records of a type without rules of fields, of one whose rules are settled by the caller, and of one where each
# record decides about three of its fields.

fields_heading() { echo 'Rules of fields'; }

# rule TYPE SUBJECT: who reads three of the fields.
rule_fields() {
    local readers="{\"read\":[$2]}"
    call "$MASTER_KEY" schema:access:set \
        "{\"record_type\":\"$1\",\"fields\":{\"title\":$readers,\"score\":$readers,\"due\":$readers}}" >/dev/null
}

fields_measure() {
    local round side type
    local -A types=([none]=item [caller]=bycaller [record]=byrecord)
    local fields='[{"name":"title","type":"string"},{"name":"grp","type":"integer"},{"name":"score","type":"number"},{"name":"done","type":"boolean"},{"name":"due","type":"datetime"}]'
    call "$MASTER_KEY" schema:create \
        "{\"record_types\":{\"bycaller\":{\"fields\":$fields},\"byrecord\":{\"fields\":$fields}}}" >/dev/null
    for type in bycaller byrecord; do fill "$type" "$ROWS"; done
    rule_fields bycaller '{"users":true}'
    rule_fields byrecord '{"owner":true}'
    for ((round = 1; round <= ROUNDS; round++)); do
        note "Rules of fields, round $round of $ROUNDS"
        for side in $(in_turns "$round" none caller record); do
            measure_wrk query "fields.query.$side" "${types[$side]}" "$ROWS"
        done
    done
}

fields_report() {
    print_sides fields query none 'no rules' caller 'settled by the caller' record 'three settled by the record'
}
