import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../design/button.tsx';
import { CopyBlock } from '../design/copy-block.tsx';
import { Field } from '../design/field.tsx';
import { Brand } from '../design/shell/brand.tsx';
import { ThemeButton } from '../design/shell/theme-button.tsx';
import type { ApiError } from '../service/call.ts';
import { type Me, readMe } from './session.ts';

interface SignInProps {
  /** Why the last session has ended; empty if the user ended it, or there was none. */
  readonly why: string;
  readonly onSignIn: (token: string, me: Me) => void;
}

/** Asks for a token. The service checks it before it is kept. */
export function SignIn({ why, onSignIn }: SignInProps) {
  const input = useRef<HTMLInputElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState(why);
  useEffect(() => {
    document.title = 'Sign in · Sluice';
    input.current?.focus();
  }, []);
  const submit = async (event: Event) => {
    event.preventDefault();
    const token = input.current?.value.trim() ?? '';
    const wrong = faultOf(token);
    if (wrong !== '') return setFault(wrong);
    setBusy(true);
    setFault('');
    try {
      onSignIn(token, await readMe(token));
    } catch (thrown) {
      setFault((thrown as ApiError).message);
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <header class="sign-in-head">
        <Brand name="Sluice tasks" />
        <ThemeButton />
      </header>
      <form class="form sign-in-form" onSubmit={event => void submit(event)}>
        <h1>Sign in to {location.host}</h1>
        <Field
          label="Token"
          hint="It is kept in this tab until you close it or sign out."
          {...(fault !== '' && { error: fault })}
        >
          <input
            ref={input}
            type="password"
            placeholder="tk_…"
            autocomplete="off"
            spellcheck={false}
            maxLength={8192}
            required
          />
        </Field>
        <div class="actions">
          <Button kind="primary" type="submit" disabled={isBusy}>
            {isBusy ? 'Checking…' : 'Sign in'}
          </Button>
        </div>
      </form>
      <section class="sign-in-help">
        <h2>You have no token?</h2>
        <p>
          Ask an owner or admin of your account: <em>Users and tokens</em> in this console creates tokens. The
          first token of an account is in the answer that creates the account:
        </p>
        <CopyBlock
          label="Create an account"
          text={`curl ${location.protocol}//${serviceHost()}/accounts -H 'Content-Type: application/json' -d '{"domain":"acme"}'`}
        />
        <p>
          <a href="/api/docs">API docs</a>
        </p>
      </section>
    </main>
  );
}

/** What is wrong with a token before the service is asked; empty if nothing is. */
function faultOf(token: string): string {
  if (token === '') return 'Enter a token.';
  // Other characters cannot be sent in a header field.
  if (!/^[\x21-\x7e]+$/.test(token)) return 'A token has no spaces, and only ASCII characters.';
  if (token.startsWith('wkt_'))
    return 'This is the token of a pull worker. Sign in with the token of a user: tk_…';
  return '';
}

/** The host of the service, without the subdomain of the tenant if it can be seen. */
function serviceHost(): string {
  const [, rest] = /^[a-z][a-z0-9-]*\.(localhost(?::\d+)?)$/.exec(location.host) ?? [];
  return rest ?? location.host;
}
