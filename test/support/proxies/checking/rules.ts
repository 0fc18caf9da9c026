const TWO_A_YEAR = 'rate_limit: {unit: year, requests_per_unit: 2}';

/** Rules for the domain that the files of `ops` name. */
export function websiteRules(onFailure: 'allow' | 'deny' = 'allow'): Readonly<Record<string, string>> {
  return {
    'config/website.yaml': `
domain: website
requests:
  on_failure: ${onFailure}
  descriptors:
    - [{key: remote_address, client_address: true}]
    - [{key: user, header: x-user}]
    - [{key: method, method: true}, {key: host, host: true}, {key: path, path: true}, {key: q, query: q}]
descriptors:
  - {key: remote_address, rate_limit: {unit: year, requests_per_unit: 1000000}}
  - {key: remote_address, value: 127.0.0.2, ${TWO_A_YEAR}}
  - {key: user, ${TWO_A_YEAR}}
  - key: method
    value: POST
    descriptors: [{key: host, value: shop.example, descriptors: [{key: path, value: /a b, descriptors: [{key: q, ${TWO_A_YEAR}}]}]}]
`,
  };
}
