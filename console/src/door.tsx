import { useState } from "react";
import { answer, api, type Schemas, signIn } from "./api";
import { useTexts } from "./texts";

// Door is for those who are not signed in, with the ways to do so at this address.
export function Door({ ways, error }: { ways: Schemas["SignedIn"]; error?: Error }) {
  const t = useTexts();
  const [failed, setFailed] = useState<Error | undefined>(error);
  const here = !ways.elsewhere;
  const attempt = (act: () => Promise<void>) => async (e: React.SyntheticEvent) => {
    e.preventDefault();
    await act().catch(setFailed);
  };
  return (
    <main className="door">
      <div className="card">
        <h1>{t.console}</h1>
        <h2>{t.signInTitle}</h2>
        {failed && <p role="alert" className="bad">{failed.message}</p>}
        {ways.provider && (
          <p>
            <button className="first" onClick={attempt(async () => {
              const to = await answer(api.POST("/console/provider", { body: {} }));
              location.assign(to.url);
            })}>{t.atProvider} {ways.provider}</button>
          </p>
        )}
        {here && <><p>{t.signInHow}</p><pre>etui console</pre></>}
        {(here || ways.keys) && <KeyForm label={here ? t.signInKey : t.operatorsKey} attempt={attempt} here={here} />}
        {!here && <><p className="soft">{ways.keys || ways.provider ? t.doorElsewhere : t.noWay}</p><pre>etui console</pre></>}
      </div>
    </main>
  );
}

function KeyForm({ label, attempt, here }: { label: string; attempt: (act: () => Promise<void>) => (e: React.SyntheticEvent) => void; here: boolean }) {
  const t = useTexts();
  const [key, setKey] = useState("");
  const enter = async () => {
    if (here) {
      const made = await answer(api.POST("/admin/console", { body: {}, headers: { Authorization: "Bearer " + key } }));
      await signIn({ secret: made.path.split("#")[1] });
    } else {
      await signIn({ key });
    }
    location.reload();
  };
  return (
    <form onSubmit={attempt(enter)}>
      <p>
        <label htmlFor="key">{label}</label>
        <input id="key" type="password" autoComplete="off" value={key} onChange={(e) => setKey(e.target.value)} required />
      </p>
      <button className="first">{t.signIn}</button>
    </form>
  );
}
