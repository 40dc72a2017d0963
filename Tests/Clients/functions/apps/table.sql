-- The functions and hooks of the table in runners.py, in SQL.
SELECT _create_type('memo'), _create_type('trace');
ALTER TABLE memo ADD text text, ADD length bigint, ADD locked boolean;
ALTER TABLE trace ADD text text;

CREATE FUNCTION echo(value jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE RETURN value;
CREATE FUNCTION add(a double precision, b double precision) RETURNS double precision LANGUAGE sql IMMUTABLE RETURN a + b;
CREATE FUNCTION greet(name text DEFAULT 'you') RETURNS text LANGUAGE sql IMMUTABLE RETURN 'Hello ' || name;
CREATE FUNCTION who() RETURNS text LANGUAGE sql STABLE RETURN _caller();
CREATE FUNCTION keyed() RETURNS text LANGUAGE sql IMMUTABLE RETURN 'in';
CREATE FUNCTION mastered() RETURNS text LANGUAGE sql IMMUTABLE RETURN 'in';
CREATE FUNCTION refuse() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'No.' USING ERRCODE = 'SKAPP', DETAIL = '{"code": 20001, "info": {"why": "because"}}';
END
$$;
CREATE FUNCTION deny() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'Not you.' USING ERRCODE = 'SK102';
END
$$;
CREATE FUNCTION crash() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'secret-of-the-code';
END
$$;
CREATE FUNCTION memos() RETURNS bigint LANGUAGE sql STABLE BEGIN ATOMIC SELECT count(*) FROM memo; END;

SELECT _expose('echo(jsonb)', 'nothing'), _expose('add(double precision, double precision)', 'nothing'),
       _expose('greet(text)', 'nothing'), _expose('who()', 'user'), _expose('keyed()', 'key'), _expose('mastered()', 'master'),
       _expose('refuse()', 'nothing'), _expose('deny()', 'nothing'), _expose('crash()', 'nothing'), _expose('memos()', 'nothing');

CREATE FUNCTION fill_memo() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    NEW.text := btrim(NEW.text);
    NEW.length := length(NEW.text);
    RETURN NEW;
END
$$;
CREATE TRIGGER fill_memo BEFORE INSERT OR UPDATE ON memo FOR EACH ROW EXECUTE FUNCTION fill_memo();

-- After the write, when the row is whole: a save of some fields is an INSERT that turns into an UPDATE.
CREATE FUNCTION check_memo() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF coalesce(NEW.text, '') = '' THEN
        RAISE EXCEPTION 'A memo needs a text.'
            USING ERRCODE = 'SKAPP', DETAIL = '{"code": 20010, "info": {"arguments": ["text"]}}';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER check_memo AFTER INSERT OR UPDATE ON memo FOR EACH ROW EXECUTE FUNCTION check_memo();

CREATE FUNCTION keep_memo() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF OLD.locked THEN RAISE EXCEPTION 'This memo is locked.' USING ERRCODE = 'SKAPP', DETAIL = '{"code": 20011}'; END IF;
    RETURN OLD;
END
$$;
CREATE TRIGGER keep_memo BEFORE DELETE ON memo FOR EACH ROW EXECUTE FUNCTION keep_memo();

CREATE FUNCTION follow_memo() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO trace (_id, text) VALUES ('deleted-' || OLD._id, OLD.text);
    ELSE
        INSERT INTO trace (_id, text) VALUES ('saved-' || NEW._id, NEW.text) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER follow_memo AFTER INSERT OR UPDATE OR DELETE ON memo FOR EACH ROW EXECUTE FUNCTION follow_memo();
