-- The rules of a game, in SQL. The type exists before its triggers:
--
--   skyrow psql -c "SELECT _create_type('score')" \
--     -c 'ALTER TABLE score ADD player text, ADD points bigint, ADD level text'
--   skyrow psql -f Examples/functions/sql/functions.sql
--
-- Triggers are a part of each statement, so psql cannot go around them.

-- Fills in the level of a score.
CREATE OR REPLACE FUNCTION fill_score() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    NEW.level := CASE WHEN NEW.points < 1000 THEN 'bronze' WHEN NEW.points < 10000 THEN 'silver' ELSE 'gold' END;
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER fill_score BEFORE INSERT OR UPDATE ON score FOR EACH ROW EXECUTE FUNCTION fill_score();

-- Refuses a score that the game cannot give. It comes after the write, when the row is whole: a save of some fields of a
-- record is an INSERT that turns into an UPDATE, so what comes before an INSERT may see a row without the others.
CREATE OR REPLACE FUNCTION check_score() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NEW.points IS NULL OR NEW.points NOT BETWEEN 0 AND 1000000 THEN
        RAISE EXCEPTION 'Points are between 0 and 1000000.'
            USING ERRCODE = 'SKAPP', DETAIL = '{"code": 20001, "info": {"arguments": ["points"]}}';
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER check_score AFTER INSERT OR UPDATE ON score FOR EACH ROW EXECUTE FUNCTION check_score();

-- The best scores. A body in this form is read when the function is made, and needs no search path.
CREATE OR REPLACE FUNCTION leaderboard(places integer DEFAULT 10) RETURNS TABLE (player text, points bigint)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT score.player, score.points FROM score ORDER BY score.points DESC LIMIT places;
END;

SELECT _expose('leaderboard(integer)', 'key');
