/** How to reach one Redis server, and as whom (spec 2.8, type `single`). */
export interface RedisEndpoint {
  /** How log lines and errors name it: without credentials. */
  readonly shown: string;
  /** A unix socket, or TCP over either version of IP (family 0) or one of them. */
  readonly target:
    | { readonly path: string }
    | { readonly host: string; readonly port: number; readonly family: 0 | 4 | 6 };
  /** Empty for none, as is the password. */
  readonly username: string;
  readonly password: string;
  readonly database: number;
}
