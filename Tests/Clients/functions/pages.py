def run(b): pass
run_skygear = run
