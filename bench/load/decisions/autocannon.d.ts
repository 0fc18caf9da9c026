/** The part of autocannon that the load over HTTP uses; the package brings no types. */
declare module 'autocannon' {
  /** What differs from the options. */
  export interface CannonRequest {
    readonly method?: string;
    readonly path?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  }

  interface CannonClient {
    setRequests(requests: readonly CannonRequest[]): void;
  }

  interface CannonOptions {
    readonly url: string;
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly connections: number;
    /** Seconds. */
    readonly duration: number;
    readonly timeout: number;
    /** Milliseconds between the moments at which it looks whether it was stopped. */
    readonly sampleInt: number;
    readonly setupClient: (client: CannonClient) => void;
  }

  interface CannonResult {
    readonly requests: { readonly sent: number };
  }

  interface Cannon {
    on(
      event: 'response',
      listener: (client: CannonClient, status: number, bytes: number, responseMs: number) => void,
    ): this;
    on(event: 'reqError', listener: (failure: Error) => void): this;
    stop(): void;
  }

  export default function autocannon(
    options: CannonOptions,
    done: (failure: Error | null, result: CannonResult) => void,
  ): Cannon;
}
