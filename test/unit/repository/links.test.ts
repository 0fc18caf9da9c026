import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { repositoryRoot } from '../../support/repository.ts';
import { repositoryFiles } from './files.ts';
import { anchorsOf, linkFaults } from './links.ts';

t.test('every relative link in a Markdown file leads to a file and a heading', async t => {
  const root = repositoryRoot();
  const pages = repositoryFiles(root).filter(path => path.endsWith('.md'));
  t.ok(pages.includes('README.md'), 'there are pages to look at');
  t.same(
    pages.flatMap(path => linkFaults(root, path)),
    [],
  );
});

t.test('links that lead nowhere are found', async t => {
  const root = t.testdir({ 'other.md': '# Other page\n', 'picture.svg': '' });
  mkdirSync(join(root, 'docs'));
  const faultsOf = (text: string) => {
    writeFileSync(join(root, 'docs/page.md'), text);
    return linkFaults(root, 'docs/page.md');
  };
  const good =
    '# A\n[a](#a) [b](../other.md) [c](../other.md#other-page) ![d](../picture.svg) [e](https://a.b/#c)';
  t.same(faultsOf(good), []);
  t.same(faultsOf('`[a](b)`\n```\n[a](b)\n```\n'), [], 'code holds no links');
  t.same(faultsOf('[a](other.md)'), ['docs/page.md: the link other.md leads to no file']);
  t.same(faultsOf('[a](../other.md#page)'), ['docs/page.md: the link ../other.md#page leads to no heading']);
  t.same(faultsOf('[a](#b)'), ['docs/page.md: the link #b leads to no heading']);
});

t.test('headings have the anchors of forges', async t => {
  const text =
    '# What is `this`?\n## It: a [link](x.md)!\n### Twice\n### Twice\n```sh\n# no heading\n```\n## Größe 1.2\n';
  t.same([...anchorsOf(text)], ['what-is-this', 'it-a-link', 'twice', 'twice-1', 'größe-12']);
});
