import { useLayoutEffect, useState } from 'preact/hooks';
import { Failure, Skeleton } from '../design/states.tsx';
import { ApiError } from '../service/call.ts';
import {
  forgetSession,
  type Me,
  readMe,
  SessionContext,
  storedMe,
  storedToken,
  storeSession,
} from './session.ts';
import { Shell } from './shell.tsx';
import { SignIn } from './sign-in.tsx';

/** Who is signed in is read again after this many milliseconds, so that a changed role is noticed. */
const RECHECK_MS = 60_000;

/** The console of a tenant: the sign-in, and then its views. */
export function Console() {
  const [token, setToken] = useState(storedToken);
  const [why, setWhy] = useState('');
  const [me, setMe] = useState<Me | null>(storedMe);
  const [error, setError] = useState<ApiError | null>(null);
  const [round, setRound] = useState(0);
  const signIn = (given: string, known: Me) => {
    storeSession(given, known);
    setWhy('');
    setMe(known);
    setToken(given);
  };
  const end = (reason = '') => {
    forgetSession();
    setWhy(reason);
    setMe(null);
    setToken(null);
  };
  // Not after painting, so that the request is on its way before the first view.
  useLayoutEffect(() => {
    if (token === null) return;
    const gone = new AbortController();
    const read = async () => {
      try {
        const known = await readMe(token, gone.signal);
        storeSession(token, known);
        setMe(known);
        setError(null);
      } catch (thrown) {
        if (gone.signal.aborted) return;
        if (thrown instanceof ApiError && thrown.status === 401) end(thrown.message);
        else setError(thrown as ApiError);
      }
    };
    void read();
    const timer = setInterval(() => {
      if (!document.hidden) void read();
    }, RECHECK_MS);
    return () => {
      gone.abort();
      clearInterval(timer);
    };
  }, [token, round]);
  if (token === null) return <SignIn why={why} onSignIn={signIn} />;
  if (me !== null) {
    return (
      <SessionContext.Provider value={{ token, me, end }}>
        <Shell />
      </SessionContext.Provider>
    );
  }
  if (error !== null) return <Failure error={error} onRetry={() => setRound(round + 1)} />;
  return <Skeleton lines={8} />;
}
