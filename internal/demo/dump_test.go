package demo_test
import ("testing";"fmt";"os";"github.com/etui-run/etui/internal/demo")
func TestDump(t *testing.T){ c:=open(t); f,_:=os.Create("/tmp/demo2/out.txt")
 for _,d:=range demo.Definitions(){ a:=minimal(t,d); fmt.Fprintf(f,"### %s %s\n%s\n",d.Name,a,c.call(d.Name,string(a)).Text)}}
