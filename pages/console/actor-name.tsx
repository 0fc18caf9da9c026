import { useEffect, useState } from 'preact/hooks';
import { Link } from '../design/route.ts';
import { ApiError } from '../service/call.ts';
import type { Actor } from './api.ts';
import { type Me, useAllowed, useCall, useSession } from './session.ts';

interface ActorNameProps {
  readonly actor: Actor;
  /** The worker that the view is about, whose name is shown instead of its id. */
  readonly worker?: { readonly id: string; readonly name: string };
}

/** Who did something, by a name that people know: a user by the e-mail address. */
export function ActorName({ actor: { type, id }, worker }: ActorNameProps) {
  if (type === 'user') return <UserName id={id} />;
  if (type === 'dispatcher' || type === 'system') return <>{type}</>;
  return (
    <>
      {type} {id === worker?.id ? worker.name : id}
    </>
  );
}

/** E-mail addresses of users by id, which a session has asked for; null for a user who no longer exists. */
const EMAILS = new WeakMap<Me, Map<string, Promise<string | null>>>();

/** The id stands for a user who is deleted, and for other users if the caller may not read them. */
function UserName({ id }: { readonly id: string }) {
  const { me } = useSession();
  const mayRead = useAllowed('users:read');
  const call = useCall();
  const [email, setEmail] = useState<string | null>(null);
  useEffect(() => {
    let isLeft = false;
    setEmail(null);
    const emails = EMAILS.get(me) ?? new Map([[me.user.id, Promise.resolve<string | null>(me.user.email)]]);
    EMAILS.set(me, emails);
    if (mayRead && !emails.has(id)) {
      const asked = call<{ readonly email: string }>(`/users/${id}`);
      emails.set(
        id,
        asked.then(
          user => user.email,
          thrown => {
            const isDeleted = thrown instanceof ApiError && thrown.status === 404;
            // The next view that shows this user asks again.
            if (!isDeleted) emails.delete(id);
            return null;
          },
        ),
      );
    }
    void emails.get(id)?.then(found => {
      if (!isLeft) setEmail(found);
    });
    return () => {
      isLeft = true;
    };
  }, [id, me, mayRead]);
  const name = <span title={id}>{email ?? id}</span>;
  return mayRead ? <Link query={{ view: 'user', id }}>{name}</Link> : name;
}
