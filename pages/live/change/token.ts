import { useState } from 'preact/hooks';

/** Where the operator's token is kept until the tab is closed. It never appears in an address. */
const STORED = 'sluice-operator-token';

/** The operator's token of this tab; empty if none was entered. */
function storedToken(): string {
  try {
    return sessionStorage.getItem(STORED) ?? '';
  } catch {
    return '';
  }
}

/** Keeps the token until the tab is closed; an empty one is forgotten. Browsers may refuse to keep it. */
function storeToken(token: string): void {
  try {
    if (token === '') sessionStorage.removeItem(STORED);
    else sessionStorage.setItem(STORED, token);
  } catch {
    // The user enters it again for the next change.
  }
}

/** The token of this tab, and a function that replaces it. */
export function useToken(): [string, (token: string) => void] {
  const [token, setToken] = useState(storedToken);
  return [
    token,
    changed => {
      storeToken(changed);
      setToken(changed);
    },
  ];
}
