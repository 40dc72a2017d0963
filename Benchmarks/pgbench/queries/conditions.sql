-- differs: by hand, without conditions of access
\set grp random(1, :groups)
SELECT _id, _owner, _access, _created_at, _created_by, _updated_at, _updated_by, _revision, title, grp, score, done, due
FROM app.item WHERE grp = :grp
    AND score >= -1.5 AND score >= -2.5 AND score >= -3.5 AND score >= -4.5 AND score >= -5.5 AND score >= -6.5 AND score >= -7.5
    AND score >= -8.5 AND score >= -9.5 AND score >= -10.5 AND score >= -11.5 AND score >= -12.5 AND score >= -13.5 AND score >= -14.5
    AND score >= -15.5 AND score >= -16.5 AND score >= -17.5 AND score >= -18.5 AND score >= -19.5
ORDER BY title, _id LIMIT 20;
