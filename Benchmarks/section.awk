# Replaces one section of a Markdown file and leaves the rest as it is: `awk -v heading=H -v body=FILE -f section.awk TARGET`.
# A section is a line `## H` and what follows it up to the next such line; without a heading it is what stands before all
# sections. One that is not there yet comes last. BODY is the text below the heading.

function put(    line) {
    if (done) return
    done = 1
    if (heading != "") {
        if (NR > 0 && last != "") print ""
        print "## " heading
        print ""
    }
    while ((getline line < body) > 0) {
        print line
        last = line
    }
    close(body)
}

BEGIN { if (heading == "") { put(); inside = 1 } }

/^## / {
    if (inside) {
        inside = 0
        if (last != "") print ""
    }
    if (heading != "" && $0 == "## " heading) {
        put()
        inside = 1
    }
}

!inside { print; last = $0 }

END { put() }
