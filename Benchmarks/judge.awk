# Judges the figures of a run: `awk -f judge.awk budgets figures`.
#
# With `-v rows=PATTERN` the other rows of `budgets` are left out, and with `-v fixed=1` a figure that depends on the machine is
# printed and not refused.
#
# Prints a row for each figure and exits with 0 when all are within their thresholds, with 1 when the median of one is
# beyond, and with 2 when a file is faulty, for a figure that is misspelt must not pass unmeasured.
#
# A line of `budgets` is NAME at-least|at-most NUMBER UNIT [machine]; what follows `#` is for readers. A line of `figures` is
#   NAME VALUE...         the values of the rounds
#   older NAME VALUE...   the same of the older executable, for comparison
#   absent NAME REASON... why a figure of the thresholds was not measured
#
# How sure a verdict is follows from the rounds alone. If the true median were just the threshold, each round would lie
# beyond it with probability 1/2; one minus the probability that at least as many rounds then lie on the median's side is
# printed. It supposes independent rounds, so a disturbance that lasts several rounds makes it look surer than it is.

function fault(text) {
    print (FILENAME != "" ? FILENAME ":" FNR ": " : "") text > "/dev/stderr"
    faulty = 1
    exit 2
}

function is_number(text) { return text ~ /^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$/ }

function shown(number) {
    if (number >= 100) return sprintf("%.0f", number)
    if (number >= 10) return sprintf("%.1f", number)
    return sprintf("%.3f", number)
}

# sorted(KEY): puts the values of a figure into list[1...], in ascending order, and returns how many there are.
function sorted(key,    n, i, j, value) {
    n = split(values[key], list, " ")
    for (i = 2; i <= n; i++) {
        value = list[i] + 0
        for (j = i - 1; j >= 1 && list[j] + 0 > value; j--) list[j + 1] = list[j]
        list[j + 1] = value
    }
    return n
}

function median(key,    n) {
    n = sorted(key)
    return n % 2 ? list[(n + 1) / 2] + 0 : (list[n / 2] + list[n / 2 + 1]) / 2
}

# The probability of at least k heads in n throws of a coin.
function tail(n, k,    i, ways, sum) {
    ways = 1
    sum = 0
    for (i = n; i >= k; i--) {
        sum += ways
        ways = ways * i / (n - i + 1)
    }
    return sum / 2 ^ n
}

{ sub(/#.*/, "") }
NF == 0 { next }

FNR == NR {
    if (NF != 4 && (NF != 5 || $5 != "machine")) fault("a row is NAME at-least|at-most NUMBER UNIT [machine], not: " $0)
    if ($2 != "at-least" && $2 != "at-most") fault("there is no direction \"" $2 "\"; it is at-least or at-most")
    if (!is_number($3)) fault("\"" $3 "\" is no number")
    if ($3 + 0 <= 0) fault("a threshold is positive, and \"" $3 "\" is not")
    if ($1 in threshold) fault("there are two rows for " $1)
    if (rows != "" && $1 !~ rows) next
    order[++count] = $1
    isFixed[$1] = NF == 4
    direction[$1] = $2
    threshold[$1] = $3 + 0
    unit[$1] = $4
    next
}

$1 == "absent" {
    if (NF < 3) fault("an absent figure has a name and a reason, not: " $0)
    name = $2
    $1 = $2 = ""
    sub(/^ +/, "")
    absent[name] = $0
    next
}

{
    key = $1
    first = 2
    if ($1 == "older") {
        key = "older " $2
        first = 3
    }
    if (NF < first) fault(key " has no values")
    if (key in values) fault("there are two rows for " key)
    for (i = first; i <= NF; i++) {
        if (!is_number($i)) fault(key " has the value \"" $i "\", which is no number")
        # A rate, a time and a memory of nothing are no measurement, and would be within any at-most.
        if ($i + 0 <= 0) fault(key " has the value " $i "; every figure is positive")
        values[key] = values[key] (i > first ? " " : "") $i
    }
    if (key !~ /^older / && !(key in threshold)) fault("the thresholds have no row for " key)
}

END {
    if (faulty) exit 2
    FILENAME = ""
    if (count == 0) fault("there are no thresholds")
    for (row = 1; row <= count; row++) {
        name = order[row]
        if (!(name in values) && !(name in absent)) fault(name " has a threshold and was not measured")
    }
    format = "%-22s %-9s %-9s %-15s %-6s %-18s %-14s %-6s %s\n"
    printf format, "figure", "value", "older", "threshold", "unit", "spread", "rounds beyond", "sure", "verdict"
    beyond_names = ""
    for (row = 1; row <= count; row++) {
        name = order[row]
        bound = (direction[name] == "at-least" ? "at least " : "at most ") threshold[name]
        if (!(name in values)) {
            printf format, name, "-", "-", bound, unit[name], "-", "-", "-", "not measured: " absent[name]
            continue
        }
        older = ("older " name) in values ? shown(median("older " name)) : "-"
        value = median(name)
        n = sorted(name)
        out = 0
        for (i = 1; i <= n; i++) {
            if (direction[name] == "at-least" ? list[i] < threshold[name] : list[i] > threshold[name]) out++
        }
        worse = direction[name] == "at-least" ? 1 - value / threshold[name] : value / threshold[name] - 1
        is_beyond = direction[name] == "at-least" ? value < threshold[name] : value > threshold[name]
        sure = 1 - tail(n, is_beyond ? out : n - out)
        # As many rounds on either side say nothing.
        if (sure < 0.5) sure = 0.5
        if (is_beyond) {
            verdict = sprintf("WORSE by %.1f %%", worse * 100)
            if (fixed && !isFixed[name]) {
                verdict = verdict ", on this machine"
                is_beyond = 0
            } else {
                beyond_count++
            }
        } else {
            verdict = "holds"
        }
        # One value says nothing about the next.
        certainty = n > 1 ? sprintf("%.0f %%", sure * 100) : "-"
        if (is_beyond) {
            beyond_names = beyond_names sprintf("\n  %s: worse than its threshold by %.1f %%, ", name, worse * 100) \
                (n > 1 ? certainty " sure" : "measured once")
        }
        if (sure < 0.75 && n > 1 && !fixed) unsure++
        printf format, name, shown(value), older, bound, unit[name], shown(list[1]) " to " shown(list[n]), out " of " n, \
            certainty, verdict
    }
    print ""
    if (beyond_count) {
        print (beyond_count == 1 ? "1 figure is" : beyond_count " figures are") " beyond the threshold:" beyond_names
    } else {
        print "No figure is beyond its threshold."
    }
    if (unsure) {
        print "A verdict that is less than 75 % sure is little more than chance: measure again with more rounds, or when the machine is calm."
    }
    exit beyond_count ? 1 : 0
}
